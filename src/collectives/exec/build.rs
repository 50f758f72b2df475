//! Compiles the `shim.c` of this package, or of `capi`, with the compiler of the MPI library that the bindings are for.

fn main() {
    println!("cargo:rerun-if-changed=shim.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    cc::Build::new()
        .compiler(compiler)
        .file("shim.c")
        .compile(concat!("colltune-", env!("CARGO_PKG_NAME"), "-shim"));
}
