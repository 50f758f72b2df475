//! Compiles `shim.c`, which knows the MPI library that this is built for.

fn main() {
    println!("cargo:rerun-if-changed=shim.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    cc::Build::new()
        .compiler(compiler)
        .file("shim.c")
        .compile("colltune-capi-shim");
}
