//! Tables where jobs use them: a folder with versions that never change, and a link to the current one.
//!
//! ```text
//! DIR/night-2026-11-20-1f2e3d4c5b6a/   one version: table, the library's file, environment.sh, module file
//! DIR/current                          a symbolic link to a version
//! DIR/history                          who made which version current, and when; only ever appended to
//! ```
//!
//! A version is written under another name, put to disk, and renamed; the link is replaced by renaming
//! another one. So `current` leads to a whole version at every moment, whatever ends the process.
//!
//! Whoever goes through `current` gets an environment with the paths of the version itself. A job that has
//! begun therefore keeps its version when another one is deployed, and no two ranks of it read different ones.
//! Of programs that decide by the table themselves, each rank goes through `current` when it starts; a job that
//! must not notice another version names the script `with-table` by the version's own folder.

mod error;
mod files;
mod folder;
mod history;

use std::path::{Path, PathBuf};

use serde::Serialize;
use table::{Lack, Table, Withheld};
use vocabulary::Library;

pub use error::DeployError;
pub use history::Action;

use crate::{Exported, Options};
use files::Content;
use folder::Folder;

/// What is to be deployed.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The table, with all of its rules.
    pub table: &'a Table,
    /// How it is exported for its library, and by which policy rules are deployed.
    pub options: &'a Options,
    /// Whether a table with rules that are not confirmed is deployed without them, instead of being refused.
    pub confirmed_only: bool,
    /// `libcolltune.so`, if programs shall decide by the table themselves.
    pub preload: Option<&'a Path>,
    /// Who asks for it.
    pub who: &'a str,
}

/// What became of a [`Request`].
#[derive(Clone, Debug, Serialize)]
pub struct Deployed {
    /// The version, which is current now.
    pub version: Version,
    /// The version that was current before; the same if there was nothing to do.
    pub before: Option<String>,
    /// The environment file, by way of `current`.
    pub environment: PathBuf,
    /// The folder of module files, by way of `current`.
    pub modules: PathBuf,
    /// The module's name.
    pub module: String,
    /// The script that starts programs that decide by the table themselves, by way of `current`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// Rules that are not deployed.
    pub withheld: Vec<Withheld>,
    /// What whoever deploys it must know, each a full sentence.
    pub notes: Vec<String>,
}

/// A version in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub folder: PathBuf,
    /// Whether `current` leads to it.
    pub current: bool,
    /// When it was made current last, as in `2026-11-20T12:00:00Z`.
    pub date: Option<String>,
    /// By whom.
    pub who: Option<String>,
}

/// Writes what a policy deploys of a table as a version of `folder`, which is created if need be, and makes it the
/// current one. The version of equal content is used if there is one already.
///
/// # Errors
/// [`DeployError::Unconfirmed`] and [`DeployError::Nothing`], before anything is written; what [`crate::Format::render`]
/// refuses; [`DeployError::NotOurs`] and [`DeployError::Altered`] if something stands in the way;
/// [`DeployError::Busy`]; files that cannot be written.
pub fn deploy(request: &Request<'_>, folder: &Path) -> Result<Deployed, DeployError> {
    let (table, withheld) = request.table.deployed(request.options.policy);
    let is_unconfirmed = |withheld: &Withheld| withheld.lack == Lack::Confirmation;
    if !request.confirmed_only && withheld.iter().any(is_unconfirmed) {
        return Err(DeployError::Unconfirmed {
            withheld: withheld.into_iter().filter(is_unconfirmed).collect(),
        });
    }
    if !crate::decides(&table) {
        return Err(DeployError::Nothing { withheld });
    }
    let exported = exported(request, &table)?;
    if exported.is_none() && request.preload.is_none() {
        return Err(DeployError::NothingForLibrary {
            library: table.provenance.library.clone(),
        });
    }
    let content = Content {
        table: &table,
        policy: request.options.policy,
        exported: exported
            .as_ref()
            .map(|(name, exported)| (name.as_str(), exported)),
        preload: request.preload,
        withheld: &withheld,
    };
    let folder = std::path::absolute(folder).map_err(DeployError::file("find", folder))?;
    let (version, module) = (content.version(&folder)?, content.module());
    let files = content.files(&folder.join(&version))?;
    let versions = Folder::open(&folder, true)?;
    let before = versions.current()?;
    versions.put(&version, &files)?;
    if before.as_ref() != Some(&version) {
        versions.make_current(Action::Deploy, &version, before.as_deref(), request.who)?;
    }
    let current = folder.join(folder::CURRENT);
    let notes = exported.map_or_else(Vec::new, |(_, exported)| exported.notes);
    Ok(Deployed {
        version: versions.version(&version)?,
        before,
        environment: current.join(files::ENVIRONMENT),
        modules: current.join(files::MODULES),
        module,
        program: request.preload.map(|_| current.join(files::PROGRAM)),
        withheld,
        notes,
    })
}

/// Makes the version current that was so before the one that is, and says which that is.
///
/// # Errors
/// [`DeployError::NothingBefore`] if there is none, [`DeployError::Gone`] if its folder is not there any more;
/// otherwise as for [`deploy`].
pub fn rollback(folder: &Path, who: &str) -> Result<Version, DeployError> {
    let folder = std::path::absolute(folder).map_err(DeployError::file("find", folder))?;
    let nothing = || DeployError::NothingBefore {
        folder: folder.clone(),
    };
    folder::current(&folder)?.ok_or_else(nothing)?;
    let versions = Folder::open(&folder, false)?;
    let current = versions.current()?;
    let in_effect = versions.history()?.versions_in_effect(current.as_deref());
    let before = match &in_effect[..] {
        [.., before, _] => before.clone(),
        _ => return Err(nothing()),
    };
    if !versions.has(&before) {
        return Err(DeployError::Gone {
            version: before,
            folder,
        });
    }
    versions.make_current(Action::Rollback, &before, current.as_deref(), who)?;
    versions.version(&before)
}

/// The versions of a folder, in the order in which they were made current last.
///
/// # Errors
/// If the folder cannot be read; [`DeployError::NotOurs`].
pub fn list(folder: &Path) -> Result<Vec<Version>, DeployError> {
    folder::versions(folder)
}

/// The file that the table's library reads, with its name; `None` if it can be told nothing.
fn exported(
    request: &Request<'_>,
    table: &Table,
) -> Result<Option<(String, Exported)>, DeployError> {
    let measured = &table.provenance.library;
    let library = Library {
        version: request
            .options
            .version
            .as_ref()
            .unwrap_or(&measured.version)
            .clone(),
        ..measured.clone()
    };
    let Some(format) = crate::read_by(&library).filter(|_| crate::has_choices(table)) else {
        return Ok(None);
    };
    let exported = format.render(request.table, request.options)?;
    let name = format!("{}.{}", library.name, format.suffix());
    Ok(Some((name, exported)).filter(|(_, exported)| exported.decides))
}
