//! Withdrawal: the library decides again.

use std::fs;
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use table::{Confidence, Policy, Provenance, Table};
use vocabulary::{Library, Pattern};

use super::files::{self, Content};
use super::folder::{self, CURRENT, Folder};
use super::modules::module_of;
use super::{DeployError, DeployedVersion, HistoryAction};

/// Makes a version current that leaves every call to the library, and returns it. Jobs that read the environment file
/// or load the module find both, under the names that they had. [`super::rollback`] returns to the version before.
///
/// It also replaces a link `current` whose version was removed. If the library decides already, nothing changes.
///
/// # Errors
/// [`DeployError::NothingDeployed`]; [`DeployError::NotOurs`] if `current` is no link to a name in the folder;
/// [`DeployError::NoTable`] if the table of no version can be read; otherwise those of [`super::deploy`].
pub fn withdraw(folder: &Path, who: &str) -> Result<DeployedVersion, DeployError> {
    let folder = std::path::absolute(folder).map_err(DeployError::file("find", folder))?;
    linked(&folder)?;
    let versions = Folder::take(&folder, false, false)?;
    let current = linked(&folder)?;
    let place = folder.join(&current);
    if leaves_all_to_library(&place) {
        return versions.version(&current);
    }
    // The current version comes first; the others serve if it was removed or damaged.
    let mut names = folder::names_by_age(&folder, Some(&current))?;
    names.push(current.clone());
    let places: Vec<PathBuf> = names.iter().rev().map(|name| folder.join(name)).collect();
    let table = empty_table(library_of(&folder, &places)?);
    let module = places.iter().find_map(|place| module_of(place));
    let content = Content {
        table: &table,
        policy: Policy::default(),
        exported: None,
        preload: None,
        withheld: &[],
        notes: &[],
        release: None,
        withdrawn: Some(module.as_deref().unwrap_or(&table.name)),
    };
    let version = content.version(&folder)?;
    versions.put(&version, &content.files(&folder.join(&version))?)?;
    versions.make_current(HistoryAction::Withdraw, &version, Some(&current), who)?;
    versions.version(&version)
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
            launches: 0,
            pattern: Pattern::Together,
            min_confidence: Confidence::default(),
            warnings: Vec::new(),
        },
        collectives: Default::default(),
        verdicts: Vec::new(),
    }
}

/// The name that `current` leads to, even if its version was removed or damaged.
fn linked(folder: &Path) -> Result<String, DeployError> {
    let found = match folder::current(folder) {
        Ok(Some(current)) => return Ok(current),
        Ok(None) => DeployError::NothingDeployed {
            folder: folder.to_owned(),
        },
        Err(error) => error,
    };
    let target = fs::read_link(folder.join(CURRENT)).unwrap_or_default();
    let mut parts = target.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) => Ok(name.to_string_lossy().into_owned()),
        _ => Err(found),
    }
}

fn leaves_all_to_library(version: &Path) -> bool {
    folder::is_version(version)
        && Table::load(&version.join(files::TABLE)).is_ok_and(|table| table.collectives.is_empty())
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
