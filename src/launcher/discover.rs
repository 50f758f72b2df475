//! The MPI libraries of this machine.

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
use super::ask::{Streams, ask};
use crate::{LibraryChoice, LibraryName};

const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// An MPI library with the program that starts its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The library, among the known ones.
    pub name: LibraryName,
    /// Its version, as in `4.1.4`.
    pub version: String,
    /// Its mpirun or mpiexec.
    pub launcher: PathBuf,
}

impl Installation {
    /// Name and version as plans and samples carry them.
    pub fn library(&self) -> Library {
        Library {
            name: self.name.name().to_owned(),
            version: self.version.clone(),
        }
    }
}

/// A program called like a launcher that is none of a known library.
#[derive(Debug)]
pub struct Unusable {
    /// The program.
    pub launcher: PathBuf,
    /// What it did when asked for its version.
    pub reason: Refusal,
}

/// What a program did instead of printing the version of a known MPI library.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum Refusal {
    /// The launcher could not be run.
    #[error("it cannot be run: {0}")]
    Run(#[from] io::Error),
    /// The launcher did not end in time.
    #[error("it took longer than {timeout:?} to answer")]
    Timeout { timeout: Duration },
    /// The launcher could not be watched or ended.
    #[error(transparent)]
    Watch(Box<LaunchError>),
    /// The launcher failed.
    #[error("asked about itself, it ended with {0}")]
    Failed(ExitStatus),
    /// The program is no MPI launcher.
    #[error("`--version` printed `{line}`")]
    Unknown { line: String },
}

/// What [`discover`] found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The libraries, in the order of the search path, each place once.
    pub installations: Vec<Installation>,
    /// Programs that are of no use.
    pub unusable: Vec<Unusable>,
    /// The directories searched.
    pub searched: Vec<PathBuf>,
}

/// Looks for MPI launchers on a search path, the value of `$PATH`, and asks each what it is.
pub fn discover(path: &OsStr) -> Discovery {
    discover_within(path, VERSION_TIMEOUT)
}

/// Does what [`discover`] does; launchers that do not answer within `timeout` are left out.
pub fn discover_within(path: &OsStr, timeout: Duration) -> Discovery {
    let searched: Vec<PathBuf> = std::env::split_paths(path).collect();
    let mut discovery = Discovery {
        searched,
        ..Discovery::default()
    };
    let mut asked = BTreeSet::new();
    let names: Vec<&str> = LibraryName::ALL
        .iter()
        .flat_map(|library| library.facts().launchers)
        .copied()
        .collect();
    for launcher in discovery
        .searched
        .iter()
        .flat_map(|dir| names.iter().map(|name| dir.join(name)))
    {
        // Distributions have several names for one program.
        let Some(program) = fs::canonicalize(&launcher)
            .ok()
            .filter(|path| is_executable(path))
        else {
            continue;
        };
        if !asked.insert(program) {
            continue;
        }
        match identify(&launcher, timeout) {
            Ok(found) => {
                if !discovery
                    .installations
                    .iter()
                    .any(|known| same_place(known, &found))
                {
                    discovery.installations.push(found);
                }
            }
            Err(reason) => discovery.unusable.push(Unusable { launcher, reason }),
        }
    }
    discovery
}

/// The installation that a campaign asks for: the launcher that it names, or the first match,
/// in the order of [`LibraryName::ALL`] if it leaves that open.
///
/// # Errors
/// Nothing is installed, not what is asked for, or the named launcher is something else.
pub fn select(choice: &LibraryChoice, found: &Discovery) -> Result<Installation, LaunchError> {
    let fits = |installation: &Installation| {
        choice.name.is_none_or(|name| installation.name == name)
            && choice
                .version
                .as_ref()
                .is_none_or(|version| installation.version == *version)
    };
    if let Some(launcher) = &choice.launcher {
        let named =
            identify(launcher, VERSION_TIMEOUT).map_err(|reason| LaunchError::Unusable {
                launcher: launcher.clone(),
                reason,
            })?;
        let (launcher, found) = (launcher.clone(), named.library());
        return if fits(&named) {
            Ok(named)
        } else {
            Err(LaunchError::OtherLibrary {
                launcher,
                found,
                wanted: wanted(choice),
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
        wanted: wanted(choice),
        found,
    })
}

fn wanted(choice: &LibraryChoice) -> String {
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

/// Asks a launcher what it is.
fn identify(launcher: &Path, timeout: Duration) -> Result<Installation, Refusal> {
    let output = ask(launcher, "--version", Streams::Both, timeout)?;
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
    })
}
