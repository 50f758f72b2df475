//! Sets `cfg(open_mpi)` if this is built for Open MPI.

use std::io;
use std::path::PathBuf;
use std::process::Command;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MPICC");
    println!("cargo:rustc-check-cfg=cfg(open_mpi)");
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let probe = folder.join("probe.c");
    std::fs::write(&probe, "#include <mpi.h>\n")?;
    let output = Command::new(&compiler)
        .args(["-E", "-dM"])
        .arg(&probe)
        .output()
        .map_err(|error| io::Error::other(format!("{compiler}: {error}")))?;
    if String::from_utf8_lossy(&output.stdout).contains("#define OMPI_MAJOR_VERSION ") {
        println!("cargo:rustc-cfg=open_mpi");
    }
    Ok(())
}
