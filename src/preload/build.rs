//! Compiles `shim.c`, which knows the MPI library that this is built for, and tells which one it is:
//! with `cfg(open_mpi)`, Open MPI.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=shim.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    println!("cargo:rustc-check-cfg=cfg(open_mpi)");
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    cc::Build::new()
        .compiler(&compiler)
        .file("shim.c")
        .compile("colltune-preload-shim");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let probe = folder.join("probe.c");
    std::fs::write(&probe, "#include <mpi.h>\n").expect("the build folder can be written");
    let macros = Command::new(&compiler)
        .args(["-E", "-dM"])
        .arg(&probe)
        .output();
    let macros = macros.expect("the compiler starts").stdout;
    if String::from_utf8_lossy(&macros).contains("#define OMPI_MAJOR_VERSION ") {
        println!("cargo:rustc-cfg=open_mpi");
    }
}
