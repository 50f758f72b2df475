//! One measuring process per store.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::file_system::create_folder_of;
use crate::{Holder, StoreError};

/// The time to wait for another process that holds the lock briefly.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// The files beside a store: SQLite's write-ahead log and its index, and the file of [`Lock`].
pub fn beside(store: &Path) -> [PathBuf; 3] {
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
/// stays; removing it would let two processes lock two files of the same name.
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
    /// [`StoreError::Locked`] if another process holds it; [`StoreError::Folder`] and [`StoreError::File`] if the file
    /// cannot be created.
    pub fn acquire(store: &Path) -> Result<Self, StoreError> {
        let [.., path] = beside(store);
        create_folder_of(&path)?;
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|source| StoreError::file(&path, source))?;
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
                Err((_, errno)) => return Err(StoreError::file(&path, errno.into())),
            }
        };
        write_holder(&mut held).map_err(|source| StoreError::file(&path, source))?;
        Ok(Self { _file: held, path })
    }

    /// The locked file, beside the store.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes the note that is shown to processes that find the lock held.
fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(Holder::this().line().as_bytes())
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.parse().ok()
}
