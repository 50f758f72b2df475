//! Discovery of the MPI libraries of this machine.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use thiserror::Error;
use vocabulary::Library;

use super::LaunchError;
use super::ask::{Streams, query_program};
use crate::{LibraryChoice, LibraryName};

const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// An MPI library with the program that starts its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The library that the launcher belongs to.
    pub name: LibraryName,
    /// Its version, as in `4.1.4`.
    pub version: String,
    /// Its mpirun or mpiexec.
    pub launcher: PathBuf,
    /// The library of the programs, if that is one which colltune does not know, with a known one's launcher.
    pub unknown: Option<Library>,
}

impl Installation {
    /// Name and version, as in plans and samples.
    pub fn library(&self) -> Library {
        self.unknown.clone().unwrap_or_else(|| Library {
            name: self.name.name().to_owned(),
            version: self.version.clone(),
        })
    }
}

/// A program with the name of a launcher that belongs to no known library.
#[derive(Debug)]
pub struct Unusable {
    /// The program.
    pub launcher: PathBuf,
    /// The reason why it cannot be used.
    pub reason: Refusal,
}

/// The reason why a program is not a known library's launcher.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum Refusal {
    /// The launcher could not be run.
    #[error("it cannot be run: {0}")]
    Run(#[from] io::Error),
    /// The launcher did not end in time.
    #[error("it took longer than {timeout:?} to answer")]
    Timeout { timeout: Duration },
    /// The launcher could not be monitored or ended.
    #[error(transparent)]
    Watch(Box<LaunchError>),
    /// The launcher failed.
    #[error("queried about itself, it ended with {0}")]
    Failed(ExitStatus),
    /// The program is not run to ask it, as its name is not that of a launcher.
    #[error("launchers have names such as `mpirun` and `mpiexec`")]
    Name,
    /// The program is not an MPI launcher.
    #[error("`--version` printed `{line}`")]
    Unknown { line: String },
}

/// The result of [`discover_libraries`].
#[derive(Debug, Default)]
pub struct Discovery {
    /// The libraries, in the order of the search path, without duplicates.
    pub installations: Vec<Installation>,
    /// Programs that cannot be used.
    pub unusable: Vec<Unusable>,
    /// The directories searched.
    pub searched: Vec<PathBuf>,
}

/// Searches a search path, the value of `$PATH`, and the installations that libraries' own variables name, for MPI
/// launchers, and asks each for its version.
pub fn discover_libraries(path: &OsStr) -> Discovery {
    discover_within(path, VERSION_TIMEOUT)
}

/// Searches like [`discover_libraries`], but leaves out launchers that do not answer within `timeout`.
pub fn discover_within(path: &OsStr, timeout: Duration) -> Discovery {
    let mut searched: Vec<PathBuf> = std::env::split_paths(path).collect();
    // An installation may be named without being on the path.
    let roots = LibraryName::ALL.iter();
    let roots = roots.filter_map(|library| std::env::var_os(library.facts().root_variable?));
    let folders_of_roots = roots.map(|root| PathBuf::from(root).join("bin"));
    searched.extend(folders_of_roots.filter(|folder| folder.is_dir()));
    let mut discovery = Discovery {
        searched,
        ..Discovery::default()
    };
    let mut asked = BTreeSet::new();
    let libraries = LibraryName::ALL.iter();
    let names: Vec<&str> = libraries
        .flat_map(|library| library.facts().launchers)
        .copied()
        .collect();
    let folders = discovery.searched.iter();
    for launcher in folders.flat_map(|folder| names.iter().map(|name| folder.join(name))) {
        // Distributions have several names for one program.
        let program = fs::canonicalize(&launcher).ok();
        let program = program.filter(|file| is_executable(file));
        if !program.is_some_and(|program| asked.insert(program)) {
            continue;
        }
        match identify_launcher(&launcher, timeout) {
            Ok(found) => {
                let mut known = discovery.installations.iter();
                if !known.any(|known| same_place(known, &found)) {
                    discovery.installations.push(found);
                }
            }
            Err(reason) => discovery.unusable.push(Unusable { launcher, reason }),
        }
    }
    discovery
}

/// The installation that a campaign requests: the launcher that it names, or the first match, by default in the order
/// of [`LibraryName::ALL`].
///
/// # Errors
/// No library is installed, the requested one is not, or the named launcher belongs to another one.
pub fn select_installation(
    choice: &LibraryChoice,
    found: &Discovery,
) -> Result<Installation, LaunchError> {
    let fits = |installation: &Installation| {
        choice.name.is_none_or(|name| installation.name == name)
            && choice
                .version
                .as_ref()
                .is_none_or(|version| installation.version == *version)
    };
    // A launcher that is named is asked what it is, since it may lie outside the folders that are searched.
    if let Some(launcher) = &choice.launcher {
        let named = identify_launcher(launcher, VERSION_TIMEOUT).map_err(|reason| {
            LaunchError::Unusable {
                launcher: launcher.clone(),
                reason,
            }
        })?;
        // Only the measuring program, when it runs, can say which library this is.
        if let Some(unknown) = choice.unknown_library() {
            return Ok(Installation {
                unknown: Some(unknown),
                ..named
            });
        }
        let (launcher, actual) = (launcher.clone(), named.library());
        return if fits(&named) {
            Ok(named)
        } else {
            Err(LaunchError::OtherLibrary {
                launcher,
                found: actual,
                wanted: describe_choice(choice),
            })
        };
    }
    let matching = found
        .installations
        .iter()
        .filter(|installation| fits(installation));
    if let Some(first) = matching.min_by_key(|installation| installation.name) {
        return Ok(first.clone());
    }
    // The remedies differ: nothing is installed, or something else is.
    if found.installations.is_empty() {
        return Err(LaunchError::NoMpi {
            searched: found.searched.clone(),
        });
    }
    let found = found
        .installations
        .iter()
        .map(|known| known.library().to_string())
        .collect();
    Err(LaunchError::NotInstalled {
        wanted: describe_choice(choice),
        found,
    })
}

fn describe_choice(choice: &LibraryChoice) -> String {
    let name = choice.name.map_or("an MPI library", LibraryName::name);
    match &choice.version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn same_place(one: &Installation, other: &Installation) -> bool {
    let place = |installation: &Installation| {
        let program = fs::canonicalize(&installation.launcher).ok()?;
        program.parent().map(Path::to_owned)
    };
    one.library() == other.library() && place(one) == place(other)
}

/// Determines the library of a launcher.
fn identify_launcher(launcher: &Path, timeout: Duration) -> Result<Installation, Refusal> {
    let output = query_program(launcher, "--version", Streams::Both, timeout)?;
    let Some((name, version)) = libraries::launched_by(&output) else {
        let line = output
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        return Err(Refusal::Unknown {
            line: line.trim().to_owned(),
        });
    };
    Ok(Installation {
        name,
        version,
        launcher: launcher.to_owned(),
        unknown: None,
    })
}
