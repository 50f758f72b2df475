//! Compiles the `shim.c` of this package, or of `capi`, with the compiler of the MPI library that the bindings are for.

fn main() {
    println!("cargo:rerun-if-changed=shim.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let mut build = cc::Build::new();
    // The name and the major version of a library that colltune does not know, from `scripts/driver`.
    for name in ["COLLTUNE_LIBRARY", "COLLTUNE_LIBRARY_MAJOR"] {
        println!("cargo:rerun-if-env-changed={name}");
        if let Ok(value) = std::env::var(name) {
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            let literal = if is_number {
                value
            } else {
                format!("{value:?}")
            };
            build.define(name, literal.as_str());
        }
    }
    build.compiler(compiler).file("shim.c").compile(concat!(
        "colltune-",
        env!("CARGO_PKG_NAME"),
        "-shim"
    ));
}
