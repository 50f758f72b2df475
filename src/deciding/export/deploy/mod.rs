//! Deployed tables: a folder with versions that never change, and a link to the current one.
//!
//! ```text
//! DIR/night-2026-11-20-1f2e3d4c5b6a/   one version: table, the library's file, environment.sh
//! DIR/current                          a symbolic link to a version
//! DIR/modulefiles/                     module files, which give jobs the current version
//! DIR/history                          who made which version current, and when; only ever appended to
//! DIR/mpich-4.0/                       the same for another library or type of node ([`folders_beside`])
//! ```
//!
//! A version is written under another name, synced to disk, and renamed; the link is replaced by renaming another one.
//! So `current` leads to a complete version at every moment, even if the process is killed.
//!
//! The environment file, the module and the script for Slurm give a job the paths of the version itself. A job reads
//! one of them, once: where it is submitted or in its batch script. It therefore keeps its version
//! when another one is deployed, and all of its ranks read the same one. The variable `COLLTUNE_RELEASE` is the
//! version's folder, `COLLTUNE_WITH_TABLE` the script that starts programs which use the table themselves.
//!
//! A service owns the folders of its channels ([`ServiceRelease`]): it repairs damage there, and removes versions
//! ([`prune_versions`]).

mod error;
mod files;
mod folder;
mod history;
mod mend;
mod modules;
mod prune;
mod targets;
mod withdraw;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use table::{Deployment, Lack, Table, Withheld};
use vocabulary::Library;

pub use error::DeployError;
pub use files::check_names;
pub use folder::table_of;
pub use history::HistoryAction;
pub use prune::prune_versions;
pub use targets::{folders_beside, target_of};
pub use withdraw::{empty_table, withdraw_table};

use crate::{Exported, Options};
use files::{PreloadLibrary, VersionContent};
use folder::VersionFolder;

/// The input of a deployment.
#[derive(Clone, Copy, Debug)]
pub struct DeployRequest<'a> {
    /// The table, with all its rules.
    pub table: &'a Table,
    /// The options of the export for its library, with the policy.
    pub options: &'a Options,
    /// Whether a table with unconfirmed rules is deployed without them instead of being refused.
    pub confirmed_only: bool,
    /// `libcolltune.so`, if programs are to use the table themselves; the version gets a copy.
    pub preload: Option<&'a Path>,
    /// Whether the table becomes the current one of the folder itself, even if the folder's versions are for another library
    /// or type of node.
    pub replace: bool,
    /// The user who requests it.
    pub who: &'a str,
    /// The service's release, if a service releases the table.
    pub release: Option<ServiceRelease<'a>>,
}

/// A release of a service, whose folder contains only its releases and is repaired if damaged. An empty table can be
/// released too; it leaves every call to the library.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRelease<'a> {
    /// The digest of the table; the version keeps it in the file `digest`.
    pub digest: &'a str,
    /// The last part of the module's name, in place of the table's name.
    pub module: &'a str,
}

/// The result of a deployment.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Deployed {
    /// The version, now the current one.
    pub version: DeployedVersion,
    /// The previous current version; the same if nothing had to be done.
    pub before: Option<String>,
    /// The environment file, through `current`.
    pub environment: PathBuf,
    /// The folder of module files.
    pub modules: PathBuf,
    /// The module's name.
    pub module: String,
    /// The script that starts programs which use the table themselves, through `current`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// Rules that are not deployed, each as a clause with the reason.
    #[schemars(with = "Vec<String>")]
    pub withheld: Vec<Withheld>,
    /// Notes for its users, each a full sentence.
    pub notes: Vec<String>,
}

/// A version in a folder.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DeployedVersion {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Whether `current` leads to it.
    pub current: bool,
    /// The time at which it was last made current, as in `2026-11-20T12:00:00Z`.
    pub date: Option<String>,
    /// The user who made it current last.
    pub who: Option<String>,
}

/// Writes a table as a policy deploys it as a version of `folder`, which is created if needed, and makes it the current
/// one. If there is a version with the same content, it is used. If the folder's versions are for another library or type
/// of node, the version is written to another folder in it ([`folders_beside`]).
///
/// # Errors
/// The errors of [`prepare_deployment`] and [`PreparedDeployment::make_current`].
pub fn deploy_table(request: &DeployRequest<'_>, folder: &Path) -> Result<Deployed, DeployError> {
    prepare_deployment(request, folder)?.make_current()
}

/// A version that exists and is not yet current. While this value exists, no other process can deploy to its folder.
#[derive(Debug)]
pub struct PreparedDeployment {
    folder: VersionFolder,
    version: String,
    who: String,
    deployed: Deployed,
}

/// Writes a table as a policy deploys it as a version of `folder`, which is created if needed, or of a folder in it
/// ([`deploy_table`]).
///
/// # Errors
/// [`DeployError::LongName`]; [`DeployError::Unconfirmed`] and, unless it is a [`ServiceRelease`], [`DeployError::Nothing`] and
/// [`DeployError::NothingForLibrary`], before anything is written; the errors of [`crate::Format::render`];
/// [`DeployError::NotOurs`] and [`DeployError::Altered`] if other files are in the way; [`DeployError::OtherTarget`];
/// [`DeployError::Busy`]; files that cannot be read or written.
pub fn prepare_deployment(
    request: &DeployRequest<'_>,
    folder: &Path,
) -> Result<PreparedDeployment, DeployError> {
    check_names(request.table)?;
    let (table, withheld) = request.table.deployed_by(request.options.policy);
    let is_unconfirmed =
        |rule: &Withheld| matches!(rule.lack, Lack::Confirmation | Lack::Measurement);
    if !request.confirmed_only && withheld.iter().any(is_unconfirmed) {
        return Err(DeployError::Unconfirmed {
            withheld: withheld.into_iter().filter(is_unconfirmed).collect(),
        });
    }
    let is_release = request.release.is_some();
    if !is_release && !table.blocking_and_nonblocking().any(crate::makes_choices) {
        return Err(DeployError::Nothing { withheld });
    }
    let (file_for_library, mut notes) = match export_for_library(request, &table) {
        // The library then decides itself; programs can still use the table.
        Err(DeployError::Export(error)) if is_release => {
            let note = format!("There is no file for the library itself: {error}.");
            (None, vec![note])
        }
        exported => (exported?, Vec::new()),
    };
    notes.extend(
        file_for_library
            .iter()
            .flat_map(|(_, file)| file.notes.clone()),
    );
    // A requirement on bits leaves rules out: the notes say how much time that costs in jobs.
    let costs = request.table.costs_of_numerics(request.options.policy);
    let is_deployed = |deployment| deployment == Deployment::Library || request.preload.is_some();
    notes.extend(
        costs
            .iter()
            .filter(|cost| is_deployed(cost.deployment))
            .map(|cost| format!("{cost}.")),
    );
    if !is_release && file_for_library.is_none() && request.preload.is_none() {
        return Err(DeployError::NothingForLibrary {
            library: table.provenance.library.clone(),
        });
    }
    let given = folder::absolute_path(folder)?;
    let chosen = choose_folder(request, &given)?;
    let preload = request.preload.map(read_preload).transpose()?;
    if let Some(preload) = &preload
        && !files::can_preload_from(&chosen)
    {
        notes.push(format!(
            "LD_PRELOAD cannot name files in {}, whose path has a colon or a space. So the version has no copy of {}: \
             programs load the library that is there when they start.",
            chosen.display(),
            preload.path.display()
        ));
    }
    let of_release = request.release.map(|release| release.module);
    let of_folder = targets::module_of_folder(&chosen, &given);
    let own_module = of_release.or(of_folder.as_deref());
    let content = VersionContent {
        table: &table,
        policy: request.options.policy,
        exported: file_for_library
            .as_ref()
            .map(|(name, exported)| (name.as_str(), exported)),
        preload: preload.as_ref(),
        withheld: &withheld,
        notes: &notes,
        release: request.release,
        module: own_module.unwrap_or(&table.name),
        is_withdrawn: false,
    };
    let (version, module) = (content.version_name(&chosen)?, content.module_name());
    let files = content.render_files(&chosen.join(&version))?;
    let versions = if is_release {
        VersionFolder::open_own(&chosen)?
    } else {
        VersionFolder::open(&chosen, true)?
    };
    // Another process may have deployed for another library since the folder was chosen.
    if choose_folder(request, &given)? != chosen {
        return Err(DeployError::Busy { folder: given });
    }
    versions.write_version(&version, &files)?;
    if request.replace {
        for beside in targets::folders_beside_for(request.table, &chosen)? {
            notes.push(format!(
                "Jobs that read {} keep its table, which is for the same library and type of node: tables for them are \
                 deployed to {} from now on. `colltune deploy --withdraw --to` names the former.",
                beside.display(),
                chosen.display()
            ));
        }
    }
    let current = chosen.join(folder::CURRENT);
    let deployed = Deployed {
        version: versions.describe_version(&version)?,
        before: versions.current_version()?,
        environment: current.join(files::ENVIRONMENT),
        modules: chosen.join(files::MODULES),
        module,
        program: request.preload.map(|_| current.join(files::PROGRAM)),
        withheld,
        notes,
    };
    Ok(PreparedDeployment {
        folder: versions,
        version,
        who: request.who.to_owned(),
        deployed,
    })
}

/// The folder whose current version the table is to be. Each channel of a service has a folder of its own.
fn choose_folder(request: &DeployRequest<'_>, given: &Path) -> Result<PathBuf, DeployError> {
    if request.release.is_some() {
        return Ok(given.to_owned());
    }
    if folder::is_version(given) {
        return Err(DeployError::InVersion {
            version: given.to_owned(),
        });
    }
    if request.replace {
        return Ok(given.to_owned());
    }
    targets::folder_for(request.table, given)
}

fn read_preload(path: &Path) -> Result<PreloadLibrary<'_>, DeployError> {
    let bytes = ::files::read(path).map_err(DeployError::for_file("read", path))?;
    Ok(PreloadLibrary { path, bytes })
}

impl PreparedDeployment {
    /// Whether the version is already the current one.
    pub fn is_current(&self) -> bool {
        self.deployed.before.as_ref() == Some(&self.version)
    }

    /// Makes the version the current one, unless it already is.
    ///
    /// # Errors
    /// Files that cannot be written. The version before then stays current, unless only the last step failed, the sync
    /// of the link to disk.
    pub fn make_current(self) -> Result<Deployed, DeployError> {
        if self.is_current() {
            self.folder.write_modules(&self.version)?;
        } else {
            let before = self.deployed.before.as_deref();
            self.folder
                .make_current(HistoryAction::Deploy, &self.version, before, &self.who)?;
        }
        Ok(Deployed {
            version: self.folder.describe_version(&self.version)?,
            ..self.deployed
        })
    }
}

/// Makes the previous version current again, and returns it.
///
/// # Errors
/// [`DeployError::NothingDeployed`] if no version is current, [`DeployError::NothingBefore`] if none was before, [`DeployError::Gone`] if its folder no longer exists; otherwise
/// those of [`deploy_table`].
pub fn roll_back(folder: &Path, who: &str) -> Result<DeployedVersion, DeployError> {
    let folder = folder::absolute_path(folder)?;
    if folder::current_version_of(&folder)?.is_none() {
        return Err(DeployError::NothingDeployed { folder });
    }
    let versions = VersionFolder::open(&folder, false)?;
    let current = versions.current_version()?;
    let in_effect = versions
        .read_history()?
        .versions_in_effect(current.as_deref());
    let before = match &in_effect[..] {
        [.., before, _] => before.clone(),
        _ => return Err(DeployError::NothingBefore { folder }),
    };
    if !versions.has_version(&before) {
        return Err(DeployError::Gone {
            version: before,
            folder,
        });
    }
    versions.make_current(HistoryAction::Rollback, &before, current.as_deref(), who)?;
    versions.describe_version(&before)
}

/// The versions of a folder and of those beside ([`folders_beside`]), in the order in which each was last made current;
/// one of each folder is current.
///
/// # Errors
/// The folder cannot be read; [`DeployError::NotOurs`].
pub fn list_all_versions(folder: &Path) -> Result<Vec<DeployedVersion>, DeployError> {
    let mut versions = folder::list_versions(folder)?;
    for beside in folders_beside(folder)? {
        versions.extend(folder::list_versions(&beside)?);
    }
    Ok(versions)
}

/// The name and contents of the file for the table's library; `None` if it can be given no choices.
fn export_for_library(
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
    let Some(format) = crate::format_read_by(&library).filter(|_| crate::has_choices(table)) else {
        return Ok(None);
    };
    let exported = format.render(request.table, request.options)?;
    let name = format!("{}.{}", library.name, format.suffix());
    Ok(Some((name, exported)).filter(|(_, exported)| exported.decides))
}
