//! One measuring process per store.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Uid;

use crate::folder::create_folder_of;
use crate::{Holder, StoreError};

/// The time to wait for another process that holds the lock briefly.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// The files beside a store: SQLite's write-ahead log and its index, and the file of [`Lock`].
pub fn files_beside(store: &Path) -> [PathBuf; 3] {
    let with = |path: &Path, end: &str| {
        let mut path = path.as_os_str().to_owned();
        path.push(end);
        path.into()
    };
    // SQLite follows links.
    let target = fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
    [
        with(&target, "-wal"),
        with(&target, "-shm"),
        with(store, ".lock"),
    ]
}

/// The right to measure into a store: an exclusive `flock` on the file beside it.
///
/// The operating system releases it when the value is dropped or the process ends for any reason. The file itself
/// stays; removing it would let two processes lock two files of the same name. Those accounts can open it that may write
/// to the store, and no others, as whoever can open it can hold it.
#[derive(Debug)]
pub struct Lock {
    /// Held for its lifetime.
    _file: Flock<File>,
    path: PathBuf,
}

impl Lock {
    /// Acquires the lock of the store at `store`, whose folder is created if needed.
    ///
    /// Tries for two seconds, because drivers probe the lock.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process holds it; [`StoreError::LockOfAnother`] if another account made the file
    /// and this one may not open it; [`StoreError::Folder`] and [`StoreError::File`] if the file cannot be created.
    pub fn acquire(store: &Path) -> Result<Self, StoreError> {
        let [.., path] = files_beside(store);
        create_folder_of(&path)?;
        let mut file = open_lock_file(&path, store)?;
        let start = Instant::now();
        let mut held = loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(held) => break held,
                Err((mut refused, Errno::EWOULDBLOCK)) => {
                    if start.elapsed() >= PATIENCE {
                        let holder = read_holder(&mut refused);
                        return Err(StoreError::Locked {
                            store: store.to_owned(),
                            holder,
                        });
                    }
                    file = refused;
                    std::thread::sleep(PAUSE);
                }
                Err((refused, Errno::EINTR)) => file = refused,
                Err((_, errno)) => return Err(StoreError::for_file(&path, errno.into())),
            }
        };
        write_holder(&mut held).map_err(|source| StoreError::for_file(&path, source))?;
        Ok(Self { _file: held, path })
    }

    /// The locked file, beside the store.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Opens the file of a store's lock, for the accounts that may write to the store.
fn open_lock_file(path: &Path, store: &Path) -> Result<File, StoreError> {
    let mut options = File::options();
    options.read(true).write(true).create(true).mode(OWNERS);
    let file = files::open_in_place(&mut options, path).map_err(|source| match source.kind() {
        ErrorKind::PermissionDenied if path.exists() => StoreError::LockOfAnother {
            path: path.to_owned(),
        },
        _ => StoreError::for_file(path, source),
    })?;
    share_with_store_writers(&file, store).map_err(|source| StoreError::for_file(path, source))?;
    Ok(file)
}

/// The mode of a lock that only its owner takes.
const OWNERS: u32 = 0o600;

/// Gives a lock to the accounts that may write to the store, as far as this account may.
fn share_with_store_writers(lock: &File, store: &Path) -> io::Result<()> {
    let me = Uid::effective();
    let found = lock.metadata()?;
    let is_ours = found.uid() == me.as_raw();
    if !is_ours && !me.is_root() {
        return Ok(());
    }
    let Ok(store) = fs::metadata(store) else {
        // There is nothing to share yet.
        return files::set_mode(lock, OWNERS);
    };
    if is_ours && me.is_root() && found.nlink() == 1 {
        // Root may measure for another account, which must be able to take its lock afterwards.
        fchown(lock, Some(store.uid()), Some(store.gid()))?;
    } else if is_ours && found.gid() != store.gid() {
        // Fails if this account is not in the store's group, with which the lock is then not shared.
        let _ = fchown(lock, None, Some(store.gid()));
    }
    let is_of_group = lock.metadata()?.gid() == store.gid();
    let mut mode = OWNERS;
    if store.mode() & 0o020 != 0 && is_of_group {
        mode |= 0o060;
    }
    if store.mode() & 0o002 != 0 {
        mode |= 0o006;
    }
    files::set_mode(lock, mode)
}

/// Writes the note that is shown to processes that find the lock held.
fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(Holder::this_process().to_line().as_bytes())
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.parse().ok()
}
