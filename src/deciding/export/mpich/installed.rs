//! The search for the library file of an installed MPICH.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::stock;

/// Names of the file; Debian renames it.
const NAMES: [&str; 4] = ["libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so"];

/// The system's library folders.
const SYSTEM: [&str; 4] = [
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/lib64/mpich/lib",
];

/// The library file of an installed MPICH of a release: beside a launcher on the search path `path`, or among the
/// system's libraries.
pub(super) fn find_library_file(version: &str, path: &OsStr) -> Option<PathBuf> {
    let launchers = std::env::split_paths(path).flat_map(|folder| {
        ["mpiexec.hydra", "mpiexec.mpich", "mpiexec"].map(|name| folder.join(name))
    });
    let beside = launchers.filter_map(|launcher| {
        let real = launcher.canonicalize().ok()?;
        Some(real.parent()?.parent()?.join("lib"))
    });
    let system = SYSTEM.iter().map(PathBuf::from);
    // Folders such as /usr/lib/x86_64-linux-gnu.
    let of_architectures = std::fs::read_dir("/usr/lib").into_iter().flatten();
    let of_architectures = of_architectures.filter_map(|entry| {
        let folder = entry.ok()?.path();
        folder
            .to_string_lossy()
            .ends_with("-linux-gnu")
            .then_some(folder)
    });
    let folders = beside.chain(system).chain(of_architectures);
    let mut files = folders.flat_map(|folder| NAMES.map(|name| folder.join(name)));
    files.find(|file| is_of_release(file, version))
}

fn is_of_release(file: &Path, version: &str) -> bool {
    file.is_file() && stock::read_stock(file, version).is_ok()
}
