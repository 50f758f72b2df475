//! Compiles `shim.c` with the compiler of the MPI library that the bindings are for.

fn main() {
    println!("cargo:rerun-if-changed=shim.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    cc::Build::new()
        .compiler(compiler)
        .file("shim.c")
        .compile("colltune-exec-shim");
}
