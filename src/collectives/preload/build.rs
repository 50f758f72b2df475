//! Compiles `shim.c` with the compiler of the MPI library that the bindings are for, and sets `cfg(sessions)`,
//! `cfg(large_counts)` and `cfg(persistent)` if that has sessions, collectives with large counts, and persistent ones.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::process::Command;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shim.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    println!("cargo:rustc-check-cfg=cfg(sessions, large_counts, persistent)");
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let probe = folder.join("probe.c");
    std::fs::write(&probe, "#include <mpi.h>\n")?;
    let output = Command::new(&compiler)
        .arg("-E")
        .arg(&probe)
        .output()
        .map_err(|error| io::Error::other(format!("{compiler}: {error}")))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{compiler} -E: {message}")));
    }
    let header = String::from_utf8_lossy(&output.stdout);
    let names = header.split(|c: char| !c.is_alphanumeric() && c != '_');
    let names: HashSet<&str> = names.collect();
    // Functions that only some libraries have.
    for (function, setting) in [
        ("MPI_Session_init", "sessions"),
        // With these come `MPI_Comm_idup_with_info` and windows with large units.
        ("MPI_Allreduce_c", "large_counts"),
        ("MPI_Allreduce_init", "persistent"),
    ] {
        if names.contains(function) {
            println!("cargo:rustc-cfg={setting}");
        }
    }
    cc::Build::new()
        .compiler(compiler)
        .file("shim.c")
        .compile("colltune-preload-shim");
    Ok(())
}
