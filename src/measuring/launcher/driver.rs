//! The measuring program of a library, and queries to it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use vocabulary::{Library, NativeAlgorithm};

use super::ask::{Streams, query_program};
use super::{LaunchError, Refusal};

/// Name of the measuring program.
const DRIVER: &str = "colltune-driver";

/// Name of the library that is preloaded into programs.
const PRELOADED: &str = "libcolltune.so";

/// The time limit for a measuring program to list the library's algorithms.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// The folders of measuring programs: `libdir`, the value of `$COLLTUNE_LIBDIR`, if given, then `lib/colltune` beside
/// the folder of the command `executable`.
pub fn driver_directories(libdir: Option<&OsStr>, executable: &Path) -> Vec<PathBuf> {
    let named = libdir.filter(|text| !text.is_empty()).map(PathBuf::from);
    let prefix = executable.parent().and_then(Path::parent);
    let installed = prefix.map(|prefix| prefix.join("lib/colltune"));
    let installed = installed.filter(|folder| named.as_ref() != Some(folder));
    named.into_iter().chain(installed).collect()
}

/// Checks that `libdir`, the value of `$COLLTUNE_LIBDIR`, is a folder if it is set and not empty.
///
/// # Errors
/// [`LaunchError::NoLibdir`].
pub fn check_libdir(libdir: Option<&OsStr>) -> Result<(), LaunchError> {
    match libdir.filter(|text| !text.is_empty()).map(PathBuf::from) {
        Some(path) if !path.is_dir() => Err(LaunchError::NoLibdir { path }),
        _ => Ok(()),
    }
}

/// The library that is preloaded into programs of `library`: `NAME-VERSION/libcolltune.so` in the first directory that
/// has it.
///
/// # Errors
/// All paths that were tried.
pub fn find_preloaded(library: &Library, directories: &[PathBuf]) -> Result<PathBuf, Vec<PathBuf>> {
    let found = find_file_for_library(PRELOADED, library, directories)?;
    Ok(std::path::absolute(&found).unwrap_or(found))
}

/// The program built for `library`: `NAME-VERSION/colltune-driver` in the first directory that
/// has it.
///
/// # Errors
/// [`LaunchError::NoDriver`] with all paths that were tried.
pub fn find_driver(library: &Library, directories: &[PathBuf]) -> Result<PathBuf, LaunchError> {
    find_file_for_library(DRIVER, library, directories).map_err(|searched| LaunchError::NoDriver {
        library: library.clone(),
        searched,
    })
}

/// The measuring programs in these directories of libraries that colltune does not know, by library. Of a library that
/// several directories have, the first one counts, as in [`find_driver`].
pub fn find_unknown_drivers(directories: &[PathBuf]) -> BTreeMap<Library, PathBuf> {
    let mut found = BTreeMap::new();
    for directory in directories {
        // A directory that cannot be read has nothing that could be used.
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let named = name.to_str().and_then(Library::from_text);
            let is_unknown = |built: &Library| libraries::find_library(&built.name).is_none();
            let driver = entry.path().join(DRIVER);
            if let Some(library) = named.filter(is_unknown)
                && driver.is_file()
            {
                found.entry(library).or_insert(driver);
            }
        }
    }
    found
}

/// The first of the paths `NAME-VERSION/FILE` in these directories that is a file, or all of them.
///
/// What is found is executed or preloaded, and the library may come from a table: a name or version with `/` would lead
/// out of the directories, and finds nothing.
fn find_file_for_library(
    file: &str,
    library: &Library,
    directories: &[PathBuf],
) -> Result<PathBuf, Vec<PathBuf>> {
    if !library.is_file_name() {
        return Err(directories.to_vec());
    }
    let paths = directories
        .iter()
        .map(|directory| directory.join(library.to_string()).join(file));
    let mut searched: Vec<PathBuf> = paths.collect();
    match searched.iter().position(|path| path.is_file()) {
        Some(found) => Ok(searched.swap_remove(found)),
        None => Err(searched),
    }
}

/// The control variables of a measuring program's library that configure collectives, with their values in this
/// process's environment; empty if the program does not list them.
pub fn list_variables(driver: &Path) -> BTreeMap<String, String> {
    query_listing(driver, "--control-variables").unwrap_or_default()
}

/// The control variables of a measuring program's library that differ from their built-in values in this process's
/// environment; `None` if the program does not list them.
pub fn list_settings(driver: &Path) -> Option<BTreeMap<String, String>> {
    query_listing(driver, "--settings").ok()
}

/// The algorithms that the library of a measuring program can be forced to use, if any.
///
/// # Errors
/// [`LaunchError::NoNatives`] if the program does not list them.
pub fn list_natives(driver: &Path) -> Result<Vec<NativeAlgorithm>, LaunchError> {
    query_listing(driver, "--natives").map_err(|reason| LaunchError::NoNatives {
        driver: driver.to_owned(),
        reason,
    })
}

/// The JSON that a measuring program prints for an option.
fn query_listing<T: DeserializeOwned>(driver: &Path, option: &str) -> Result<T, Refusal> {
    let list = query_program(driver, option, Streams::Output, LIST_TIMEOUT)?;
    Ok(serde_json::from_str(&list).map_err(io::Error::from)?)
}
