//! Tables for several libraries and types of node in one folder.
//!
//! ```text
//! DIR/current                    the version for the first library and type of node
//! DIR/mpich-4.0/current          the version for another library, beside it
//! DIR/openmpi-4.1-amd-epyc-7763/ the versions for the same library on another type of node
//! ```
//!
//! Each of them is a folder of versions with a link, a history and module files of its own. So a table never replaces one
//! whose jobs could not use it, and paths through `DIR/current` mean the same library and type of node for ever.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use table::{Provenance, Table};

use super::folder::{self, HISTORY, LOCK};
use super::{DeployError, files};
use crate::choices::series;

/// The longest description of a CPU in the name of a folder, in bytes.
const LONGEST_CPU: usize = 40;

/// The folder in which a table becomes current: `folder` itself, if it has no versions yet or those for the table's
/// library and type of node, and otherwise a folder in it.
///
/// # Errors
/// [`DeployError::OtherTarget`] if `folder` is itself such a folder, for another library or type of node; folders that
/// cannot be listed.
pub(super) fn folder_for(table: &Table, folder: &Path) -> Result<PathBuf, DeployError> {
    let provenance = &table.provenance;
    let Some(first) = target_of(folder)? else {
        return Ok(folder.to_owned());
    };
    if is_same_target(&first, provenance) {
        return Ok(folder.to_owned());
    }
    if parent_of(folder).is_some() {
        return Err(DeployError::OtherTarget {
            folder: folder.to_owned(),
            holds: first.library,
        });
    }
    for beside in folders_beside(folder)? {
        let target = target_of(&beside)?;
        if target.is_some_and(|target| is_same_target(&target, provenance)) {
            return Ok(beside);
        }
    }
    Ok(unused_name(folder, &first, provenance))
}

/// The folders of further libraries and types of node in a folder of versions, by name; none if there is no such folder.
///
/// # Errors
/// The folder cannot be listed.
pub fn folders_beside(folder: &Path) -> Result<Vec<PathBuf>, DeployError> {
    if !folder.is_dir() || parent_of(folder).is_some() {
        return Ok(Vec::new());
    }
    let list = DeployError::file("list", folder);
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut beside: Vec<PathBuf> = entries
        .map_err(list)?
        .into_iter()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
        .map(|entry| entry.path())
        .filter(|path| path.join(HISTORY).is_file())
        .collect();
    beside.sort_unstable();
    Ok(beside)
}

/// The library, the CPU and everything else that the tables of a folder of versions are for: those of the current version,
/// or, where that is withdrawn or unreadable, of the one that was current before. `None` if no version can be read.
///
/// # Errors
/// The folder cannot be listed.
pub fn target_of(folder: &Path) -> Result<Option<Provenance>, DeployError> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let current = folder::current(folder).ok().flatten();
    let mut names = folder::names_by_age(folder, current.as_deref())?;
    names.extend(current);
    let mut withdrawn = None;
    for name in names.iter().rev() {
        let Ok(table) = Table::load(&folder.join(name).join(files::TABLE)) else {
            continue;
        };
        if !table.collectives.is_empty() {
            return Ok(Some(table.provenance));
        }
        withdrawn.get_or_insert(table.provenance);
    }
    Ok(withdrawn)
}

/// The folder of versions that this folder of versions is in; `None` if it is not in one.
fn parent_of(folder: &Path) -> Option<&Path> {
    let parent = folder.parent()?;
    let has_versions = parent.join(HISTORY).is_file();
    (has_versions && folder.join(HISTORY).is_file()).then_some(parent)
}

/// The name of the module of a folder of versions in another one, which differs from those of the others; `None` if it is
/// in none, and modules have the names of tables.
pub(super) fn module_of_folder<'f>(folder: &'f Path, given: &Path) -> Option<&'f str> {
    if folder == given && parent_of(folder).is_none() {
        return None;
    }
    folder.file_name().and_then(OsStr::to_str)
}

/// Whether programs that can use a table made on one system can use those made on another one.
fn is_same_target(one: &Provenance, other: &Provenance) -> bool {
    let (this, that) = (&one.library, &other.library);
    let is_same_series = match (series(&this.version), series(&that.version)) {
        (Some(this), Some(that)) => this == that,
        _ => this.version == that.version,
    };
    this.name == that.name && is_same_series && one.has_same_nodes(other)
}

/// The name of a new folder beside that of `first`: the library, its series of releases and, if the nodes differ, the CPU;
/// with a number if another folder has this name.
fn unused_name(folder: &Path, first: &Provenance, target: &Provenance) -> PathBuf {
    let library = &target.library;
    let version = series(&library.version).map_or_else(
        || library.version.clone(),
        |(major, minor)| format!("{major}.{minor}"),
    );
    let mut name = format!("{}-{version}", library.name);
    if !first.has_same_nodes(target) {
        name = format!("{name}-{}", short_cpu(&target.cpu));
    }
    let name = files::plain(&name);
    // A process that was killed may have begun a folder, which this one then completes.
    let is_begun = |path: &PathBuf| path.join(LOCK).is_file() && !path.join(HISTORY).exists();
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err() || is_begun(path);
    let plain = folder.join(&name);
    if is_free(&plain) {
        return plain;
    }
    let numbered = |number| folder.join(format!("{name}-{number}"));
    (2..).map(numbered).find(is_free).unwrap_or(plain)
}

/// A CPU's name as lower-case words joined by hyphens, without trademarks and the frequency: `Intel(R) Xeon(R) Platinum
/// 8380 CPU @ 2.30GHz` is `intel-xeon-platinum-8380`.
fn short_cpu(cpu: &str) -> String {
    let model = cpu.split('@').next().unwrap_or_default().to_lowercase();
    let words = model
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !["", "r", "tm", "cpu", "processor"].contains(word));
    let mut short = String::new();
    for word in words {
        if short.len() + word.len() >= LONGEST_CPU {
            break;
        }
        if !short.is_empty() {
            short.push('-');
        }
        short += word;
    }
    if short.is_empty() {
        short += "other-nodes";
    }
    short
}

#[cfg(test)]
mod tests {
    use super::short_cpu;

    #[test]
    fn names_of_cpus_become_parts_of_names_of_folders() {
        let names = [
            (
                "Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz",
                "intel-xeon-platinum-8380",
            ),
            ("AMD EPYC 7763 64-Core Processor", "amd-epyc-7763-64-core"),
            ("../..", "other-nodes"),
            ("", "other-nodes"),
        ];
        for (cpu, short) in names {
            assert_eq!(short_cpu(cpu), short);
        }
    }
}
