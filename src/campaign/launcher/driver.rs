//! Finding the measuring program of a library.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use wire::Library;

use super::LaunchError;

/// Name of the measuring program.
const DRIVER: &str = "colltune-driver";

/// Where measuring programs are installed: in `libdir`, the value of `$COLLTUNE_LIBDIR`, if that
/// is given, then in `lib/colltune` beside the folder of the command `executable`.
pub fn driver_directories(libdir: Option<&OsStr>, executable: &Path) -> Vec<PathBuf> {
    let named = libdir.filter(|text| !text.is_empty()).map(PathBuf::from);
    let installed = executable.parent().and_then(Path::parent);
    named
        .into_iter()
        .chain(installed.map(|prefix| prefix.join("lib/colltune")))
        .collect()
}

/// The program built for `library`: `NAME-VERSION/colltune-driver` in the first directory that
/// has it.
///
/// # Errors
/// [`LaunchError::NoDriver`] with every file looked for.
pub fn find_driver(library: &Library, directories: &[PathBuf]) -> Result<PathBuf, LaunchError> {
    let candidates: Vec<PathBuf> = directories
        .iter()
        .map(|directory| directory.join(library.to_string()).join(DRIVER))
        .collect();
    match candidates.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => Err(LaunchError::NoDriver {
            library: library.clone(),
            searched: candidates,
        }),
    }
}
