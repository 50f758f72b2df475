//! The folder that tables are deployed to.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use ::files::{CurrentLink, Turns, VersionsError, VersionsFolder};

use super::files::VersionFile;
use super::history::{History, HistoryAction, HistoryLine};
use super::modules::link_modules;
use super::{DeployError, DeployedVersion, files};

pub(super) use ::files::{CURRENT, VERSIONS_LOCK as LOCK};

/// The file that records who made which version current.
pub(super) const HISTORY: &str = "history";

/// A folder of versions that this process alone changes.
#[derive(Debug)]
pub(super) struct VersionFolder {
    pub(super) path: PathBuf,
    /// Whether the folder belongs to a service and contains only its releases.
    pub(super) is_own: bool,
    /// The same folder; how it is changed so that a crash does no harm.
    pub(super) versions: VersionsFolder,
}

impl VersionFolder {
    /// Opens and locks the folder, and removes half-written versions of earlier processes.
    pub(super) fn open(folder: &Path, create: bool) -> Result<Self, DeployError> {
        current_version_of(folder)?;
        Self::open_and_lock(folder, create, false)
    }

    /// Opens and locks a folder of a service, and sets aside files in the way.
    pub(super) fn open_own(folder: &Path) -> Result<Self, DeployError> {
        let folder = Self::open_and_lock(folder, true, true)?;
        folder.set_strangers_aside()?;
        Ok(folder)
    }

    /// As [`Self::open`] and [`Self::open_own`], whatever `current` is.
    pub(super) fn open_and_lock(
        folder: &Path,
        create: bool,
        is_own: bool,
    ) -> Result<Self, DeployError> {
        let versions = VersionsFolder::open(folder, create, Turns::Locked)?;
        Ok(Self {
            path: folder.to_owned(),
            is_own,
            versions,
        })
    }

    /// The current version.
    pub(super) fn current_version(&self) -> Result<Option<String>, DeployError> {
        match current_version_of(&self.path) {
            // The link leads nowhere, or to a damaged version, and is about to be replaced.
            Err(DeployError::NotOurs { .. }) if self.is_own => Ok(None),
            found => found,
        }
    }

    pub(super) fn read_history(&self) -> Result<History, DeployError> {
        History::read(&self.path.join(HISTORY))
    }

    /// Whether a version exists.
    pub(super) fn has_version(&self, version: &str) -> bool {
        is_version(&self.path.join(version))
    }

    /// Writes a version, atomically; an existing version must have the same files.
    pub(super) fn write_version(
        &self,
        version: &str,
        files: &[VersionFile],
    ) -> Result<(), DeployError> {
        let place = self.path.join(version);
        if self.is_own && fs::symlink_metadata(&place).is_ok_and(|found| !found.is_dir()) {
            self.set_aside(version)?;
        }
        if fs::symlink_metadata(&place).is_ok() {
            let differs = |file: &&VersionFile| {
                let found = ::files::read(&place.join(&file.name));
                found.ok().as_ref() != Some(&file.bytes)
            };
            if self.is_own {
                return self.mend_version(&place, files, differs);
            }
            return match files.iter().find(differs) {
                None => Ok(()),
                Some(file) => Err(DeployError::Altered {
                    folder: place,
                    file: file.name.clone(),
                }),
            };
        }
        self.versions.add_folder(version, |half| {
            for file in files {
                let path = half.join(&file.name);
                make_folder(path.parent().unwrap_or(half))?;
                write_read_only(&path, &file.bytes, file_mode(&file.name))
                    .map_err(DeployError::for_file("write", &path))?;
            }
            link_modules(half)
        })
    }

    /// Makes an existing version the current one.
    pub(super) fn make_current(
        &self,
        action: HistoryAction,
        version: &str,
        before: Option<&str>,
        who: &str,
    ) -> Result<(), DeployError> {
        // A version that jobs should no longer read is replaced even if its module files cannot be.
        let modules = self.write_modules(version);
        if action == HistoryAction::Deploy && modules.is_err() {
            return modules;
        }
        let line = HistoryLine {
            date: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            who: files::plain_word(who),
            action,
            version: version.to_owned(),
            before: before.map(str::to_owned),
        };
        History::append_line(&self.path.join(HISTORY), &line)?;
        self.versions.make_current(version)?;
        modules
    }

    /// The description of a version.
    pub(super) fn describe_version(&self, name: &str) -> Result<DeployedVersion, DeployError> {
        let (current, history) = (self.current_version()?, self.read_history()?);
        Ok(deployed_version(
            &self.path,
            name,
            current.as_deref(),
            &history,
        ))
    }
}

/// The versions of a folder, in the order in which each was last made current.
pub(super) fn list_versions(folder: &Path) -> Result<Vec<DeployedVersion>, DeployError> {
    let current = current_version_of(folder)?;
    let current = current.as_deref();
    let history = History::read(&folder.join(HISTORY))?;
    let names = names_by_age(folder, current)?;
    Ok(names
        .iter()
        .map(|name| deployed_version(folder, name, current, &history))
        .collect())
}

/// The names of the versions of a folder, in the order in which each was last made current.
pub(super) fn names_by_age(
    folder: &Path,
    current: Option<&str>,
) -> Result<Vec<String>, DeployError> {
    let history = History::read(&folder.join(HISTORY))?;
    let listed = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = listed.map_err(DeployError::for_file("list", folder))?;
    let mut names: Vec<String> = entries
        .iter()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| is_version(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort_by_cached_key(|name| {
        let last = history.last_activation(name, current);
        (last.map(|(place, _)| place), name.clone())
    });
    Ok(names)
}

fn deployed_version(
    folder: &Path,
    name: &str,
    current: Option<&str>,
    history: &History,
) -> DeployedVersion {
    let line = history.last_activation(name, current).map(|(_, line)| line);
    DeployedVersion {
        name: name.to_owned(),
        folder: folder.join(name),
        current: current == Some(name),
        date: line.map(|line| line.date.clone()),
        who: line.map(|line| line.who.clone()),
    }
}

/// The absolute path of a folder, as jobs are to read it. Links stay, but not `..`: the path would no longer lead anywhere
/// if the folder before it were removed.
pub(super) fn absolute_path(folder: &Path) -> Result<PathBuf, DeployError> {
    let path = std::path::absolute(folder).map_err(DeployError::for_file("find", folder))?;
    Ok(without_parents(path))
}

fn without_parents(path: PathBuf) -> PathBuf {
    if !path.components().any(|part| part == Component::ParentDir) {
        return path;
    }
    if let Ok(real) = fs::canonicalize(&path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => without_parents(above.to_owned()).join(name),
        _ => path,
    }
}

/// The version that a folder's link leads to.
pub(super) fn current_version_of(folder: &Path) -> Result<Option<String>, DeployError> {
    let path = folder.join(CURRENT);
    let not_ours = |reason: String| {
        Err(DeployError::NotOurs {
            path: path.clone(),
            reason,
        })
    };
    let target = match CurrentLink::read(folder) {
        Ok(CurrentLink::Missing) => return Ok(None),
        Ok(CurrentLink::NotALink) => {
            return not_ours("it is not a symbolic link to a version".to_owned());
        }
        Ok(CurrentLink::Version(name)) => match name.to_str() {
            Some(version) if is_version(&folder.join(version)) => {
                return Ok(Some(version.to_owned()));
            }
            _ => name,
        },
        Ok(CurrentLink::Elsewhere(target)) => target,
        Err(error) => return Err(DeployError::for_file("read", &path)(error)),
    };
    not_ours(format!(
        "it is a symbolic link to {}, which is not a version",
        target.display()
    ))
}

/// Whether a folder is a version; it gets its name only when it is complete.
pub(super) fn is_version(folder: &Path) -> bool {
    [files::TABLE, files::ENVIRONMENT]
        .iter()
        .all(|name| folder.join(name).is_file())
}

/// The table in the folder of a version, or of the version that a folder's `current` leads to now. The returned path
/// always leads to this table, however long a job runs.
///
/// # Errors
/// [`DeployError::NotOurs`] if the folder is neither of the two.
pub fn table_of(folder: &Path) -> Result<PathBuf, DeployError> {
    let folder = std::path::absolute(folder).map_err(DeployError::for_file("find", folder))?;
    // Without a trailing slash, which would hide a link.
    let mut folder: PathBuf = folder.components().collect();
    let is_link = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_symlink());
    if is_link && folder.ends_with(CURRENT) {
        folder.pop();
    }
    if let Some(version) = current_version_of(&folder)? {
        return Ok(folder.join(version).join(files::TABLE));
    }
    if is_version(&folder) {
        Ok(folder.join(files::TABLE))
    } else {
        Err(DeployError::NotOurs {
            path: folder,
            reason: "it has neither a link `current` nor the files of a version".to_owned(),
        })
    }
}

pub(super) fn file_mode(file: &str) -> u32 {
    match file {
        files::PROGRAM => 0o555,
        _ => 0o444,
    }
}

/// The mode of folders, which all users can read.
pub(super) const OPEN: u32 = 0o755;

/// Creates a folder that all users can read, whatever the umask, and those above it that are missing.
pub(super) fn make_folder(path: &Path) -> Result<(), DeployError> {
    ::files::create_folder(path, OPEN).map_err(DeployError::for_file("create", path))
}

/// Writes a read-only file of a version.
pub(super) fn write_read_only(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = ::files::create_new(path, mode)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Syncs a folder's entries to disk.
pub(super) fn sync_folder(folder: &Path) -> Result<(), DeployError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(DeployError::for_file("write", folder))
}

pub(super) fn missing_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => removed,
    }
}

impl From<VersionsError> for DeployError {
    fn from(error: VersionsError) -> Self {
        match error {
            VersionsError::Untrusted(untrusted) => untrusted.into(),
            VersionsError::Busy { folder } => Self::Busy { folder },
            VersionsError::File {
                action,
                path,
                source,
            } => Self::File {
                action,
                path,
                source,
            },
        }
    }
}
