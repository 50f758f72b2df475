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
//! The environment file, the module files and the script for Slurm have the paths of the version itself. A job reads
//! one of them by way of `current`, once: where it is submitted or in its batch script. It therefore keeps its
//! version when another one is deployed, and all of its ranks read the same one. They name the version to the job:
//! `COLLTUNE_RELEASE` is its folder, `COLLTUNE_WITH_TABLE` what starts programs that decide by the table themselves.
//!
//! A service owns the folders of its channels ([`ServiceRelease`]): it mends what is damaged there, and removes
//! versions ([`prune`]).

mod error;
mod files;
mod folder;
mod history;
mod mend;
mod modules;
mod prune;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use table::{Lack, Table, Withheld};
use vocabulary::Library;

pub use error::DeployError;
pub use folder::table_of;
pub use history::HistoryAction;
pub use prune::prune;

use crate::{Exported, Options};
use files::Content;
use folder::Folder;

/// What is to be deployed.
#[derive(Clone, Copy, Debug)]
pub struct DeployRequest<'a> {
    /// The table, with all of its rules.
    pub table: &'a Table,
    /// How it is exported for its library, and which rules are deployed.
    pub options: &'a Options,
    /// Whether a table with rules that are not confirmed is deployed without them, instead of being refused.
    pub confirmed_only: bool,
    /// `libcolltune.so`, if programs shall decide by the table themselves.
    pub preload: Option<&'a Path>,
    /// The user who asks for it.
    pub who: &'a str,
    /// What a service says of a table that it has released.
    pub release: Option<ServiceRelease<'a>>,
}

/// A release of a service, whose folder has nothing but its releases: what is damaged there is mended. An empty table
/// can be released too; it leaves every call to the library.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRelease<'a> {
    /// The digest of the table; the version keeps it in the file `digest`.
    pub digest: &'a str,
    /// The last part of the module's name, in place of the table's name.
    pub module: &'a str,
}

/// What was deployed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Deployed {
    /// The version, which is current now.
    pub version: DeployedVersion,
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
    /// Rules that are not deployed, each as a clause that says why.
    #[schemars(with = "Vec<String>")]
    pub withheld: Vec<Withheld>,
    /// What must be known to use it, each a full sentence.
    pub notes: Vec<String>,
}

/// A version in a folder.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DeployedVersion {
    /// What it is called.
    pub name: String,
    /// The version's folder.
    pub folder: PathBuf,
    /// Whether `current` leads to it.
    pub current: bool,
    /// When it was made current last, as in `2026-11-20T12:00:00Z`.
    pub date: Option<String>,
    /// The user who made it current last.
    pub who: Option<String>,
}

/// Writes what a policy deploys of a table as a version of `folder`, which is created if need be, and makes it the
/// current one. If there is a version with the same content, it is used.
///
/// # Errors
/// As for [`prepare`] and [`Prepared::make_current`].
pub fn deploy(request: &DeployRequest<'_>, folder: &Path) -> Result<Deployed, DeployError> {
    prepare(request, folder)?.make_current()
}

/// A version that is there and not yet current. No other process can deploy to its folder as long as it exists.
#[derive(Debug)]
pub struct Prepared {
    folder: Folder,
    version: String,
    who: String,
    deployed: Deployed,
}

/// Writes what a policy deploys of a table as a version of `folder`, which is created if need be.
///
/// # Errors
/// [`DeployError::Unconfirmed`] and, unless it is a [`ServiceRelease`], [`DeployError::Nothing`] and
/// [`DeployError::NothingForLibrary`], before anything is written; what [`crate::Format::render`] refuses;
/// [`DeployError::NotOurs`] and [`DeployError::Altered`] if something stands in the way;
/// [`DeployError::Busy`]; files that cannot be written.
pub fn prepare(request: &DeployRequest<'_>, folder: &Path) -> Result<Prepared, DeployError> {
    let (table, withheld) = request.table.deployed(request.options.policy);
    let is_unconfirmed =
        |withheld: &Withheld| matches!(withheld.lack, Lack::Confirmation | Lack::Measurement);
    if !request.confirmed_only && withheld.iter().any(is_unconfirmed) {
        return Err(DeployError::Unconfirmed {
            withheld: withheld.into_iter().filter(is_unconfirmed).collect(),
        });
    }
    let is_release = request.release.is_some();
    if !is_release && !crate::decides(&table) {
        return Err(DeployError::Nothing { withheld });
    }
    let (exported, mut notes) = match exported(request, &table) {
        // The library decides for itself then; programs can decide by the table all the same.
        Err(DeployError::Export(error)) if is_release => {
            let note = format!("There is no file for the library itself: {error}.");
            (None, vec![note])
        }
        exported => (exported?, Vec::new()),
    };
    notes.extend(exported.iter().flat_map(|(_, file)| file.notes.clone()));
    if !is_release && exported.is_none() && request.preload.is_none() {
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
        notes: &notes,
        release: request.release,
    };
    let folder = std::path::absolute(folder).map_err(DeployError::file("find", folder))?;
    let (version, module) = (content.version(&folder)?, content.module());
    let files = content.files(&folder.join(&version))?;
    let versions = match is_release {
        true => Folder::open_own(&folder)?,
        false => Folder::open(&folder, true)?,
    };
    versions.put(&version, &files)?;
    let current = folder.join(folder::CURRENT);
    let deployed = Deployed {
        version: versions.version(&version)?,
        before: versions.current()?,
        environment: current.join(files::ENVIRONMENT),
        modules: current.join(files::MODULES),
        module,
        program: request.preload.map(|_| current.join(files::PROGRAM)),
        withheld,
        notes,
    };
    Ok(Prepared {
        folder: versions,
        version,
        who: request.who.to_owned(),
        deployed,
    })
}

impl Prepared {
    /// Whether the version is the current one already.
    pub fn is_current(&self) -> bool {
        self.deployed.before.as_ref() == Some(&self.version)
    }

    /// Makes the version the current one, unless it is.
    ///
    /// # Errors
    /// Files that cannot be written; then the version before is still the current one, unless only the last step
    /// failed, which puts the link to disk.
    pub fn make_current(self) -> Result<Deployed, DeployError> {
        if !self.is_current() {
            let before = self.deployed.before.as_deref();
            self.folder
                .make_current(HistoryAction::Deploy, &self.version, before, &self.who)?;
        }
        Ok(Deployed {
            version: self.folder.version(&self.version)?,
            ..self.deployed
        })
    }
}

/// Makes the version current that was current before, and returns it.
///
/// # Errors
/// [`DeployError::NothingBefore`] if there is none, [`DeployError::Gone`] if its folder is not there any more;
/// otherwise as for [`deploy`].
pub fn rollback(folder: &Path, who: &str) -> Result<DeployedVersion, DeployError> {
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
    versions.make_current(HistoryAction::Rollback, &before, current.as_deref(), who)?;
    versions.version(&before)
}

/// The versions of a folder, in the order in which they were made current last.
///
/// # Errors
/// If the folder cannot be read; [`DeployError::NotOurs`].
pub fn list(folder: &Path) -> Result<Vec<DeployedVersion>, DeployError> {
    folder::versions(folder)
}

/// The file that the table's library reads, with its name; `None` if it can be told nothing.
fn exported(
    request: &DeployRequest<'_>,
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
