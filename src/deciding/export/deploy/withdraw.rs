//! Withdrawal: the library decides again.

use std::path::{Path, PathBuf};

use ::files::CurrentLink;
use jiff::Timestamp;
use table::{Confidence, Numerics, Policy, Provenance, Table};
use vocabulary::{Library, Pattern};

use super::files::{self, VersionContent, WITH_TABLE};
use super::folder::{self, HISTORY, VersionFolder};
use super::modules::{VARIABLES, module_of};
use super::{DeployError, DeployedVersion, HistoryAction};

/// Makes a version current that leaves every call to the library, and returns it. Jobs that read the environment file
/// or load the module find both, under the names that they had. [`super::roll_back`] returns to the version before.
///
/// It also replaces a link `current` whose version was removed, and makes one where the link itself was removed. If the
/// library decides already, nothing changes.
///
/// # Errors
/// [`DeployError::NothingDeployed`] if there is no version; [`DeployError::NotOurs`] if `current` is something else;
/// [`DeployError::NoTable`] if the table of no version can be read; otherwise those of [`super::deploy_table`].
pub fn withdraw_table(folder: &Path, who: &str) -> Result<DeployedVersion, DeployError> {
    let folder = folder::absolute_path(folder)?;
    name_of_current(&folder)?;
    let versions = VersionFolder::open_and_lock(&folder, false, false)?;
    let current = name_of_current(&folder)?;
    if let Some(current) = &current
        && leaves_all_to_library(&folder.join(current))
    {
        return versions.describe_version(current);
    }
    // The current version comes first; the others serve if it was removed or damaged.
    let mut names = folder::names_by_age(&folder, current.as_deref())?;
    names.extend(current.clone());
    let places: Vec<PathBuf> = names.iter().rev().map(|name| folder.join(name)).collect();
    let table = empty_table(library_of(&folder, &places)?);
    let module = places.iter().find_map(|place| module_of(place));
    let content = VersionContent {
        table: &table,
        policy: Policy::default(),
        exported: None,
        preload: None,
        withheld: &[],
        notes: &[],
        release: None,
        module: module.as_deref().unwrap_or(&table.name),
        is_withdrawn: true,
    };
    let version = content.version_name(&folder)?;
    versions.write_version(&version, &content.render_files(&folder.join(&version))?)?;
    versions.make_current(HistoryAction::Withdraw, &version, current.as_deref(), who)?;
    versions.describe_version(&version)
}

/// A table without rules, for the calls of a library.
pub fn empty_table(library: Library) -> Table {
    Table {
        name: "withdrawn".to_owned(),
        provenance: Provenance {
            campaign: "none".to_owned(),
            store: "none".to_owned(),
            library,
            colltune: env!("CARGO_PKG_VERSION").to_owned(),
            date: Timestamp::now().strftime("%Y-%m-%d").to_string(),
            hosts: Vec::new(),
            cpu: Provenance::ANY_CPU.to_owned(),
            networks: Vec::new(),
            launches: 0,
            pattern: Pattern::Together,
            distributions: Vec::new(),
            min_confidence: Confidence::default(),
            numerics: Numerics::default(),
            warnings: Vec::new(),
        },
        collectives: Default::default(),
        verdicts: Vec::new(),
        nonblocking: None,
    }
}

/// The name that `current` leads to, even if its version was removed or damaged; `None` if the link was removed, and
/// versions are there.
fn name_of_current(folder: &Path) -> Result<Option<String>, DeployError> {
    let not_a_version = match folder::current_version_of(folder) {
        Ok(Some(current)) => return Ok(Some(current)),
        Ok(None) => {
            // Jobs whose scripts read `current` end without it.
            let has_versions = folder.is_dir() && !folder::names_by_age(folder, None)?.is_empty();
            return if has_versions {
                Ok(None)
            } else {
                Err(DeployError::NothingDeployed {
                    folder: folder.to_owned(),
                })
            };
        }
        Err(error) => error,
    };
    match CurrentLink::read(folder) {
        // Other software has such links, too, but no history.
        Ok(CurrentLink::Version(name)) if folder.join(HISTORY).is_file() => {
            Ok(Some(name.to_string_lossy().into_owned()))
        }
        _ => Err(not_a_version),
    }
}

/// Whether a version sets nothing for the library and preloads nothing.
fn leaves_all_to_library(version: &Path) -> bool {
    let variables = ::files::read_text(&version.join(VARIABLES)).unwrap_or_default();
    let preloads_nothing = format!("{WITH_TABLE}=env");
    folder::is_version(version)
        && variables.lines().any(|line| line == preloads_nothing)
        && Table::load(&version.join(files::TABLE)).is_ok_and(|table| !table.has_rules())
}

/// The library of the first version whose table can be read.
fn library_of(folder: &Path, versions: &[PathBuf]) -> Result<Library, DeployError> {
    let load = |version: &PathBuf| Table::load(&version.join(files::TABLE));
    let mut tables = versions.iter().map(load);
    let unreadable = match tables.next() {
        Some(Ok(table)) => return Ok(table.provenance.library),
        Some(Err(error)) => error,
        None => {
            return Err(DeployError::NothingDeployed {
                folder: folder.to_owned(),
            });
        }
    };
    match tables.find_map(Result::ok) {
        Some(table) => Ok(table.provenance.library),
        None => Err(DeployError::NoTable {
            folder: folder.to_owned(),
            source: Box::new(unreadable),
        }),
    }
}
