//! Folders of versions that never change, with a link `current` to one of them.
//!
//! Deployed tables, pulled tables and the tables of a service are kept by the functions of this module, so that what
//! holds after a crash is argued here, once:
//!
//! - A version is written under a temporary name, synced to disk with everything in it, and only then renamed; then its
//!   folder is synced. A name that is not temporary is therefore that of a whole version, also after a power failure.
//! - A version gets its modes before it gets its name, whatever the umask is.
//! - The link is replaced by renaming another link over it, so `current` leads to the version before or to the next one
//!   at every moment. The folder is synced afterwards: what comes next, such as the removal of the version before, may
//!   rely on the new link.
//! - A version is removed by giving it a temporary name first, so it is there as a whole or not at all.
//! - A folder of versions has a lock, and a folder of [`write_below`] a file, only after the folders above it are synced.
//!   A process that is killed in between leaves that to the next one.
//! - What has a temporary name when a process ends is worthless. The next process that holds the lock removes or replaces
//!   it. Some network file systems have locks that hold on one host only (Lustre with `localflock`, NFS with
//!   `local_lock`): there a process may lose what it is writing to one of another host, fails, and is run again.
//! - If a leftover cannot be removed, opening the folder succeeds all the same. Only a later step that needs its name fails.
//! - One process at a time changes the folder ([`VersionsFolder::open`] locks it). Readers need no lock.
//! - No account but the owner's can redirect what is written ([`check_folder`]); `current` is a link to a name in the same
//!   folder, or it is not ours ([`CurrentLink`]).

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::{UntrustedFolder, check_folder, create_folder, create_new, open_lock, set_mode};

/// The link to the current version.
pub const CURRENT: &str = "current";
/// The file that is locked during changes. Only the folder's owner can open it, and so hold it.
pub const VERSIONS_LOCK: &str = ".lock";
/// The temporary names in a folder whose lock is certain to be held: one for each purpose.
const HALF: &str = ".half-written";
const NEXT: &str = ".next";
const NEXT_FILE: &str = ".next-file";
/// Fixed temporary names that earlier versions of colltune used.
const EARLIER: [&str; 2] = [".mended", ".next-module"];
/// The prefix of temporary names in a folder whose file system may have no locks.
const PART: &str = ".part-";

/// The mode of folders that all users can read.
const OPEN: u32 = 0o755;
/// The pause between attempts to lock a folder.
const PAUSE: Duration = Duration::from_millis(20);

/// The way in which processes take turns on a folder of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// The folder must be locked, and is not waited for. Temporary names are fixed.
    Locked,
    /// The folder is waited for up to this time. If its file system has no locks, it is changed without one: temporary
    /// names are then unique, and nothing is removed, as another process may need it.
    LockedIfPossible(Duration),
}

/// An error of a folder of versions.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum VersionsError {
    /// Another account could redirect what is written.
    #[error(transparent)]
    Untrusted(#[from] UntrustedFolder),
    /// Another process holds the lock.
    #[error("another process uses {}", folder.display())]
    Busy { folder: PathBuf },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl VersionsError {
    /// Makes an I/O error the error of a file.
    fn for_file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }
}

/// What has the name `current` in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CurrentLink {
    /// Nothing.
    Missing,
    /// A link to this name in the same folder, where there may be no version, or something else.
    Version(PathBuf),
    /// A link out of the folder, or into a version.
    Elsewhere(PathBuf),
    /// Something that is not a link.
    NotALink,
}

impl CurrentLink {
    /// Reads the link of a folder.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let target = match fs::read_link(folder.join(CURRENT)) {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::Missing),
            Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(Self::NotALink),
            Err(error) => return Err(error),
        };
        let mut components = target.components();
        match (components.next(), components.next()) {
            (Some(Component::Normal(name)), None) => Ok(Self::Version(name.into())),
            _ => Ok(Self::Elsewhere(target)),
        }
    }

    /// The name that the link leads to in the folder, if it is text.
    #[must_use]
    pub fn version_name(&self) -> Option<&str> {
        match self {
            Self::Version(name) => name.to_str(),
            _ => None,
        }
    }
}

/// A folder of versions that this process alone changes.
#[derive(Debug)]
pub struct VersionsFolder {
    path: PathBuf,
    turns: Turns,
    /// Locked for its lifetime; `None` if the file system has no locks.
    lock: Option<File>,
}

impl VersionsFolder {
    /// Locks a folder, and removes what killed processes left, as far as that is possible. If `create`, a missing folder
    /// is made, readable by all users whatever the umask is.
    ///
    /// # Errors
    /// [`VersionsError`].
    pub fn open(path: &Path, create: bool, turns: Turns) -> Result<Self, VersionsError> {
        check_folder(path)?;
        if create {
            create_synced(path).map_err(VersionsError::for_file("create", path))?;
            // Another account may have created it first.
            check_folder(path)?;
        }
        let folder = Self {
            path: path.to_owned(),
            turns,
            lock: lock_folder(path, turns)?,
        };
        folder.remove_unfinished();
        Ok(folder)
    }

    /// The folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether no other process can change the folder; otherwise nothing should be removed.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Adds a version that is a folder; `fill` writes its files, whose modes are final, into a temporary folder. Nothing may have
    /// the name. For folders that must be locked.
    ///
    /// # Errors
    /// Those of `fill`, after which the next process removes what it wrote; [`VersionsError::File`].
    pub fn add_folder<E: From<VersionsError>>(
        &self,
        name: &str,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let (half, place) = (self.free_half()?, self.path.join(name));
        create_folder(&half, OPEN).map_err(VersionsError::for_file("create", &half))?;
        steps::passed("created", &half);
        fill(&half)?;
        let moved = move_new_folder(&half, &place);
        Ok(moved.map_err(VersionsError::for_file("create", &place))?)
    }

    /// Adds a version that is a file, or replaces a file of the folder or of a version, as a whole.
    ///
    /// # Errors
    /// [`VersionsError::File`], after which the file before is unchanged, unless only the last step failed, the sync of
    /// the folder.
    pub fn write_file(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), VersionsError> {
        let written = match self.turns {
            Turns::Locked => {
                let next = self.path.join(NEXT_FILE);
                ignore_missing(fs::remove_file(&next))
                    .and_then(|()| write_new(&next, bytes, mode))
                    .and_then(|()| rename_and_sync(&next, path))
            }
            Turns::LockedIfPossible(_) => write_in_folder(&self.path, PART, path, bytes, mode),
        };
        written.map_err(VersionsError::for_file("write", path))
    }

    /// Makes a version the current one. It must exist.
    ///
    /// # Errors
    /// [`VersionsError::File`], after which the version before is current, unless only the last step failed, the sync of
    /// the folder.
    pub fn make_current(&self, name: &str) -> Result<(), VersionsError> {
        let link = self.path.join(CURRENT);
        let replaced = match self.turns {
            Turns::Locked => {
                let next = self.path.join(NEXT);
                ignore_missing(fs::remove_file(&next))
                    .and_then(|()| symlink(name, &next))
                    .and_then(|()| rename_and_sync(&next, &link))
            }
            Turns::LockedIfPossible(_) => {
                let mut unique = tempfile::Builder::new();
                unique.prefix(PART);
                let next = unique.make_in(&self.path, |path| symlink(name, path));
                next.and_then(|next| rename_and_sync(next.path(), &link))
            }
        };
        replaced.map_err(VersionsError::for_file("replace", &link))
    }

    /// Removes a version that is not current.
    ///
    /// # Errors
    /// [`VersionsError::File`]; the version is then gone or whole.
    pub fn remove_version(&self, name: &str) -> Result<(), VersionsError> {
        let path = self.path.join(name);
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        if !is_folder {
            return fs::remove_file(&path).map_err(VersionsError::for_file("remove", &path));
        }
        let half = self.free_half()?;
        fs::rename(&path, &half).map_err(VersionsError::for_file("rename", &path))?;
        steps::passed("renamed", &half);
        fs::remove_dir_all(&half).map_err(VersionsError::for_file("remove", &half))
    }

    /// The path of the half-written folder, after removing one that is there: nothing of it may get into a version.
    fn free_half(&self) -> Result<PathBuf, VersionsError> {
        let half = self.path.join(HALF);
        ignore_missing(fs::remove_dir_all(&half))
            .map_err(VersionsError::for_file("remove", &half))?;
        Ok(half)
    }

    /// Removes what killed processes left; other fixed names are replaced when they are used. Errors are ignored: other
    /// processes may remove the same files, and what cannot be removed must not stop a process that does not need the
    /// name.
    fn remove_unfinished(&self) {
        match self.turns {
            Turns::Locked => {
                let _ = fs::remove_dir_all(self.path.join(HALF));
                for name in EARLIER {
                    let _ = fs::remove_file(self.path.join(name));
                }
            }
            Turns::LockedIfPossible(_) if self.lock.is_some() => self.remove_parts(),
            Turns::LockedIfPossible(_) => {}
        }
    }

    /// Removes the files and links with unique temporary names. Errors are ignored: where a lock holds on one host only, a
    /// process of another host may remove the same files, and what remains does no harm.
    fn remove_parts(&self) {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries {
            if entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(PART.as_bytes())
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Removes the link of a folder that is to have no current version.
///
/// # Errors
/// Those of the system.
pub fn remove_current_link(folder: &Path) -> io::Result<()> {
    match CurrentLink::read(folder) {
        Ok(CurrentLink::Version(_) | CurrentLink::Elsewhere(_)) => {
            fs::remove_file(folder.join(CURRENT))
        }
        // There may be no folder, or another file in its place.
        _ => Ok(()),
    }
}

/// Writes a file as a whole, with this mode whatever the umask is, and syncs it to disk. The folders between `root` and
/// the file are created if they are missing, with `folder_mode`, and synced as well. An existing file is replaced.
///
/// # Errors
/// Those of the system; a file that was there is then unchanged, unless only the last step failed, the sync of the
/// folder.
pub fn write_below(
    root: &Path,
    path: &Path,
    bytes: &[u8],
    mode: u32,
    folder_mode: u32,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(root);
    create_folder(folder, folder_mode)?;
    // The names of new folders are entries of those above. A folder gets its first file after they are synced, so one
    // without files may be new: this call has made it, or one that was killed.
    if !has_files(folder)? {
        let above = folder.ancestors().skip(1);
        let mut changed = above.take_while(|each| each.starts_with(root));
        changed.try_for_each(sync_folder)?;
    }
    write_in_folder(folder, ".new-", path, bytes, mode)
}

/// Whether anything but folders is in a folder.
fn has_files(folder: &Path) -> io::Result<bool> {
    let mut entries = fs::read_dir(folder)?.flatten();
    Ok(entries.any(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir())))
}

/// Creates a folder of versions if it is missing, and syncs the folders above it that have new entries.
fn create_synced(folder: &Path) -> io::Result<()> {
    let folder = std::path::absolute(folder)?;
    // The lock is made later, so the names of a folder that has one are on disk.
    if folder.join(VERSIONS_LOCK).exists() {
        return Ok(());
    }
    let missing = folder.ancestors().take_while(|each| !each.exists()).count();
    create_folder(&folder, OPEN)?;
    // One that is there may be new, too: its process may have been killed before the sync.
    for above in folder.ancestors().skip(1).take(missing.max(1)) {
        match sync_folder(above) {
            // The account may write there without reading; or the file system, as an automounter's, syncs no folders.
            Err(error) if is_unsyncable(&error) => {}
            synced => synced?,
        }
    }
    Ok(())
}

/// Whether an error says that a folder cannot be synced by this account, or at all.
fn is_unsyncable(error: &io::Error) -> bool {
    use ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    matches!(
        error.kind(),
        InvalidInput | PermissionDenied | ReadOnlyFilesystem | Unsupported
    )
}

/// Gives a folder that is complete its final name, after syncing everything in it to disk. Nothing may have the name.
///
/// # Errors
/// Those of the system.
pub fn move_new_folder(half: &Path, target: &Path) -> io::Result<()> {
    sync_tree(half)?;
    rename_and_sync(half, target)
}

/// Writes a file under a unique name in a folder, and renames it.
fn write_in_folder(
    folder: &Path,
    prefix: &str,
    path: &Path,
    bytes: &[u8],
    mode: u32,
) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(prefix)
        .tempfile_in(folder)?;
    steps::passed("created", file.path());
    fill_file(file.as_file_mut(), bytes)?;
    set_mode(file.as_file(), mode)?;
    file.as_file().sync_all()?;
    steps::passed("synced", file.path());
    file.persist(path).map_err(|error| error.error)?;
    steps::passed("renamed", path);
    sync_folder(path.parent().unwrap_or(folder))
}

/// Writes a new file, synced to disk.
fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = create_new(path, mode)?;
    steps::passed("created", path);
    fill_file(&mut file, bytes)?;
    file.sync_all()?;
    steps::passed("synced", path);
    Ok(())
}

fn fill_file(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    // In two parts, so that tests can end the process between them.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    file.write_all(first)?;
    steps::passed("half written", Path::new(""));
    file.write_all(second)
}

/// Renames what is complete, and syncs the folder that it is in.
fn rename_and_sync(from: &Path, to: &Path) -> io::Result<()> {
    steps::passed("complete", from);
    fs::rename(from, to)?;
    steps::passed("renamed", to);
    sync_folder(to.parent().unwrap_or(to))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()?;
    steps::passed("synced", folder);
    Ok(())
}

/// Syncs a folder with all files and folders in it to disk. Links are entries of their folder.
fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
            steps::passed("synced", &entry.path());
        }
    }
    sync_folder(folder)
}

fn lock_folder(folder: &Path, turns: Turns) -> Result<Option<File>, VersionsError> {
    let path = folder.join(VERSIONS_LOCK);
    let file = open_lock(&path, 0o600).map_err(VersionsError::for_file("open", &path))?;
    let (wait, may_lack_locks) = match turns {
        Turns::Locked => (Duration::ZERO, false),
        Turns::LockedIfPossible(wait) => (wait, true),
    };
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if since.elapsed() < wait => sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(VersionsError::Busy {
                    folder: folder.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) if may_lack_locks && has_no_locks(&error) => {
                return Ok(None);
            }
            Err(TryLockError::Error(error)) => {
                return Err(VersionsError::for_file("lock", &path)(error));
            }
        }
    }
}

/// Whether an error says that the file system has no locks, like some network file systems.
fn has_no_locks(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Unsupported || error.raw_os_error() == Some(nix::libc::ENOLCK)
}

fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        _ => removed,
    }
}

/// The steps between which a process may end; tests end it there, and read what was done.
#[cfg(not(test))]
mod steps {
    pub(super) fn passed(_what: &str, _path: &std::path::Path) {}
}

#[cfg(test)]
mod steps;
#[cfg(test)]
mod tests;
