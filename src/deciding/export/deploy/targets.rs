//! Tables for several libraries and types of node in one folder.
//!
//! ```text
//! DIR/current                    the version for the first library and type of node
//! DIR/mpich-4.0/current          the version for another library, beside it
//! DIR/openmpi-4.1-amd-epyc-7763/ the versions for the same library on another type of node
//! ```
//!
//! Each of them is a folder of versions with a link, a history and module files of its own. So a table replaces one
//! whose jobs could not use it only if this is asked for, and paths through `DIR/current` stay those of the same library
//! and type of node.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use table::{Provenance, Table};

use super::folder::{self, HISTORY, LOCK};
use super::{DeployError, files};
use crate::choices::release_series;

/// The longest name of a CPU or a network in the name of a folder, in bytes.
const LONGEST_NODES: usize = 40;

/// The folder in which a table becomes current: `folder` itself, if it has no versions yet or those for the table's
/// library and type of node, and otherwise a folder in it.
///
/// # Errors
/// [`DeployError::OtherTarget`] if `folder` is itself such a folder, for another library or type of node;
/// [`DeployError::UnknownTarget`]; folders that cannot be listed.
pub(super) fn folder_for(table: &Table, folder: &Path) -> Result<PathBuf, DeployError> {
    let provenance = &table.provenance;
    let Some(first) = target_of(folder)? else {
        return Ok(folder.to_owned());
    };
    let mut same = Vec::new();
    if is_same_target(&first, provenance) {
        same.push((folder.to_owned(), first.clone()));
    } else if parent_of(folder).is_some() {
        return Err(DeployError::OtherTarget {
            folder: folder.to_owned(),
            holds: describe_target(&first),
            given: describe_target(provenance),
        });
    }
    for beside in folders_beside(folder)? {
        if let Some(target) = target_of(&beside)?
            && is_same_target(&target, provenance)
        {
            same.push((beside, target));
        }
    }
    // A table for unknown nodes is for all nodes, but one for the very nodes is closer.
    let are_nodes_equal = |(_, target): &&(PathBuf, Provenance)| {
        target.cpu.trim() == provenance.cpu.trim() && target.networks == provenance.networks
    };
    let closest = same.iter().find(are_nodes_equal).or(same.first());
    Ok(match closest {
        Some((closest_folder, _)) => closest_folder.clone(),
        None => unused_name(folder, &first, provenance),
    })
}

/// The folders of further libraries and types of node in a folder of versions, by name; none if there is no such folder.
/// A site may have moved one of them and linked it.
///
/// # Errors
/// The folder cannot be listed.
pub fn folders_beside(folder: &Path) -> Result<Vec<PathBuf>, DeployError> {
    if !folder.is_dir() || parent_of(folder).is_some() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut places: Vec<PathBuf> = entries
        .map_err(DeployError::for_file("list", folder))?
        .into_iter()
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
        .map(|entry| entry.path())
        .filter(|path| has_versions(path))
        .collect();
    // Folders come before links, which may lead to the folder itself or to another one in it.
    places.sort_unstable_by_key(|path| (path.is_symlink(), path.clone()));
    let mut seen: Vec<PathBuf> = fs::canonicalize(folder).into_iter().collect();
    places.retain(|path| {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let is_new = !seen.contains(&real);
        seen.push(real);
        is_new
    });
    places.sort_unstable();
    Ok(places)
}

/// The folders beside whose tables are for the same library and type of node as a table.
pub(super) fn folders_beside_for(
    table: &Table,
    folder: &Path,
) -> Result<Vec<PathBuf>, DeployError> {
    let mut same = Vec::new();
    for beside in folders_beside(folder)? {
        let target = target_of(&beside)?;
        if target.is_some_and(|target| is_same_target(&target, &table.provenance)) {
            same.push(beside);
        }
    }
    Ok(same)
}

/// What the tables of a folder of versions are for: the library, the CPU and the networks of the current version, or,
/// where that is withdrawn, of the one that was current before. Nodes that its table does not name are those of an earlier
/// one for the same library. `None` if there is no version.
///
/// # Errors
/// [`DeployError::UnknownTarget`] if the table of the current version cannot be read; the folder cannot be listed.
pub fn target_of(folder: &Path) -> Result<Option<Provenance>, DeployError> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let current = folder::current_version_of(folder).ok().flatten();
    let mut names = folder::names_by_age(folder, current.as_deref())?;
    names.retain(|name| Some(name) != current.as_ref());
    names.extend(current);
    let mut newest_first = names.iter().rev().map(|name| folder.join(name));
    let Some(newest) = newest_first.next() else {
        return Ok(None);
    };
    let load = |version: &Path| Table::load(&version.join(files::TABLE));
    let first = load(&newest).map_err(|source| DeployError::UnknownTarget {
        version: newest,
        source: Box::new(source),
    })?;
    let is_withdrawn = !first.has_rules();
    let mut target = (!is_withdrawn).then(|| first.provenance.clone());
    for earlier in newest_first {
        if target.as_ref().is_some_and(are_nodes_known) {
            break;
        }
        let Some(table) = load(&earlier).ok().filter(Table::has_rules) else {
            continue;
        };
        let nodes = table.provenance;
        match &mut target {
            None => target = Some(nodes),
            Some(target) if is_same_library(target, &nodes) => {
                target.cpu = nodes.cpu;
                target.networks = nodes.networks;
            }
            Some(_) => {}
        }
    }
    Ok(Some(target.unwrap_or(first.provenance)))
}

fn are_nodes_known(target: &Provenance) -> bool {
    !["", Provenance::ANY_CPU].contains(&target.cpu.trim())
}

/// Whether this is a folder of versions.
fn has_versions(folder: &Path) -> bool {
    folder.join(HISTORY).is_file() || matches!(folder::current_version_of(folder), Ok(Some(_)))
}

/// The folder of versions that this folder of versions is in; `None` if it is not in one.
fn parent_of(folder: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(folder).ok()?;
    let parent = real.parent()?;
    (has_versions(parent) && has_versions(&real)).then(|| parent.to_owned())
}

/// The name of the module of a folder of versions in another one, which differs from those of the others; `None` if it is
/// in none, and modules have the names of tables.
pub(super) fn module_of_folder(folder: &Path, given: &Path) -> Option<String> {
    if folder == given && parent_of(folder).is_none() {
        return None;
    }
    let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    real.file_name().and_then(OsStr::to_str).map(str::to_owned)
}

/// What a table is for, as a phrase.
fn describe_target(target: &Provenance) -> String {
    format!("{} on {}", target.library, target.describe_nodes())
}

fn is_same_library(one: &Provenance, other: &Provenance) -> bool {
    let (this, that) = (&one.library, &other.library);
    let is_same_series = match (release_series(&this.version), release_series(&that.version)) {
        (Some(this), Some(that)) => this == that,
        _ => this.version == that.version,
    };
    this.name == that.name && is_same_series
}

/// Whether programs that can use a table made on one system can use those made on another one.
fn is_same_target(one: &Provenance, other: &Provenance) -> bool {
    is_same_library(one, other) && one.has_same_nodes(other)
}

/// The name of a new folder beside that of `first`: the library, its series of releases and, if the nodes differ, the CPU
/// or, if that is the same, the first network; with a number if another folder has this name.
fn unused_name(folder: &Path, first: &Provenance, target: &Provenance) -> PathBuf {
    let library = &target.library;
    let version = release_series(&library.version).map_or_else(
        || library.version.clone(),
        |(major, minor)| format!("{major}.{minor}"),
    );
    let mut name = format!("{}-{version}", library.name);
    if !first.has_same_nodes(target) {
        let is_cpu_same = first.cpu.trim() == target.cpu.trim();
        let network = target.networks.first().filter(|_| is_cpu_same);
        let nodes = network.map_or_else(|| short_name(&target.cpu), |network| short_name(network));
        name = format!("{name}-{nodes}");
    }
    let name = files::plain_word(&name);
    // A process that was killed may have begun a folder, which this one then completes.
    let is_begun = |path: &PathBuf| {
        let is_left = |file| fs::symlink_metadata(path.join(file)).is_ok();
        !path.is_symlink() && is_left(LOCK) && !is_left(HISTORY) && !is_left(folder::CURRENT)
    };
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err() || is_begun(path);
    let plain = folder.join(&name);
    if is_free(&plain) {
        return plain;
    }
    let numbered = |number| folder.join(format!("{name}-{number}"));
    (2..).map(numbered).find(is_free).unwrap_or(plain)
}

/// The name of a CPU or a network as lower-case words joined by hyphens, without trademarks, the frequency and the driver:
/// `Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz` is `intel-xeon-platinum-8380`.
fn short_name(text: &str) -> String {
    let model = text.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
    let model = model.split(['@', '(']).next().unwrap_or_default();
    let words: Vec<&str> = model
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !["", "cpu", "processor"].contains(word))
        .collect();
    let mut short = words.join("-");
    short.truncate(LONGEST_NODES);
    let short = short.trim_end_matches('-');
    if short.is_empty() {
        "other-nodes".to_owned()
    } else {
        short.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn names_of_nodes_become_parts_of_names_of_folders() {
        let names = [
            (
                "Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz",
                "intel-xeon-platinum-8380",
            ),
            ("AMD EPYC 7763 64-Core Processor", "amd-epyc-7763-64-core"),
            (
                "InfiniBand 200 Gb/s (mlx5_core MT4123)",
                "infiniband-200-gb-s",
            ),
            (
                "A Name That Is Much Longer Than Forty Bytes Are",
                "a-name-that-is-much-longer-than-forty-by",
            ),
            ("../..", "other-nodes"),
            ("", "other-nodes"),
        ];
        for (text, short) in names {
            assert_eq!(short_name(text), short);
        }
    }
}
