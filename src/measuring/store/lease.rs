//! One measuring process per campaign on all hosts of a cluster.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::folder::create_folder_of;
use crate::{Holder, StoreError};

/// The interval between renewals.
const RENEWAL: Duration = Duration::from_secs(60);

/// The time after which a lease without a renewal is stale.
const STALE: Duration = Duration::from_secs(600);

/// The longest time for which a stale lease may be renamed.
const CONTEST: Duration = Duration::from_millis(50);

/// The right to submit and follow the launches in a folder that several hosts share.
///
/// A file in the folder names the holder. It is created by `link(2)`, which succeeds for only one process, even on
/// network file systems, where `flock` may be local to a host. The holder rewrites it every minute. Another process
/// takes the lease over if the file is ten minutes old by the file system's clock, or if the holder ran on the same
/// host and has ended.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    line: String,
    is_lost: Arc<AtomicBool>,
    renewing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Lease {
    /// Acquires the lease of the folder, which is created if needed.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process holds it; [`StoreError::Folder`] and [`StoreError::File`] if files
    /// cannot be created in the folder.
    pub fn acquire(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join("lease");
        create_folder_of(&path)?;
        let holder = Holder::this_process();
        // Threads of one process may compete as well.
        static ATTEMPTS: AtomicU64 = AtomicU64::new(0);
        let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        let name = |what: &str| format!(".lease-{what}-{}-{}-{attempt}", holder.host, holder.pid);
        let claim = Claim {
            path,
            mine: folder.join(name("new")),
            old: folder.join(name("old")),
            line: holder.to_line(),
        };
        let taken = claim.take_lease();
        // The claim is settled either way.
        let _ = fs::remove_file(&claim.mine);
        taken?;
        let at = |source| StoreError::for_file(&claim.path, source);
        let file = File::options().write(true).open(&claim.path).map_err(at)?;
        let mut renewal = Renewal {
            file,
            path: claim.path.clone(),
            line: claim.line.clone(),
            is_lost: Arc::default(),
        };
        let is_lost = Arc::clone(&renewal.is_lost);
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                renewal.renew();
            }
        });
        Ok(Self {
            path: claim.path,
            line: claim.line,
            is_lost,
            renewing: Some((stop, thread)),
        })
    }

    /// Whether another process has taken it over because it was not renewed in time.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.renewing.take() {
            drop(stop);
            let _ = thread.join();
        }
        if has_line(&self.path, &self.line) {
            // If the file remains, it is stale as soon as this process has ended.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn has_line(path: &Path, line: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text == line)
}

struct Renewal {
    /// Kept open so that writes go to this file even if another one has replaced it.
    file: File,
    path: PathBuf,
    line: String,
    is_lost: Arc<AtomicBool>,
}

impl Renewal {
    fn renew(&mut self) {
        // The file system may be unreachable for a while.
        match fs::read_to_string(&self.path) {
            Ok(text) if text != self.line => self.is_lost.store(true, Ordering::Relaxed),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.is_lost.store(true, Ordering::Relaxed);
            }
            _ => {
                let _ = self.file.seek(SeekFrom::Start(0));
                let _ = self.file.write_all(self.line.as_bytes());
                let _ = self.file.sync_all();
            }
        }
    }
}

/// An attempt to take a lease.
struct Claim {
    path: PathBuf,
    /// The file that the lease is linked to.
    mine: PathBuf,
    /// The name that a stale lease is renamed to.
    old: PathBuf,
    line: String,
}

impl Claim {
    fn take_lease(&self) -> Result<(), StoreError> {
        // Tries again if the lease was just released, or is stale.
        let mut is_contested = false;
        for _ in 0..3 {
            fs::write(&self.mine, &self.line).map_err(|error| self.file_error(error))?;
            if self.link_lease()? {
                return if is_contested && !self.is_still_ours() {
                    Err(self.locked_error(""))
                } else {
                    Ok(())
                };
            }
            let found = match fs::read_to_string(&self.path) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(self.file_error(error)),
            };
            if !self.is_stale(&found) || !self.put_away(&found)? {
                return Err(self.locked_error(&found));
            }
            is_contested = true;
        }
        Err(self.locked_error(""))
    }

    /// Whether the lease is still ours when the other processes that found the same stale lease are done: they may have
    /// moved ours away by mistake, and a third process may have taken the lease before they restored ours.
    fn is_still_ours(&self) -> bool {
        std::thread::sleep(CONTEST);
        // Opening the file makes a network file system ask its server again.
        let file = |path: &Path| File::open(path).and_then(|file| file.metadata());
        match (file(&self.mine), file(&self.path)) {
            (Ok(mine), Ok(there)) if mine.nlink() > 1 => mine.ino() == there.ino(),
            _ => has_line(&self.path, &self.line),
        }
    }

    /// Links the lease; returns whether it is ours.
    fn link_lease(&self) -> Result<bool, StoreError> {
        match fs::hard_link(&self.mine, &self.path) {
            Ok(()) => Ok(true),
            // If the server's first reply was lost, the retry fails because the first call succeeded.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let links = fs::metadata(&self.mine).map_or(1, |file| file.nlink());
                Ok(links == 2)
            }
            Err(_) => self.create_lease(),
        }
    }

    /// Creates the lease where the file system has no links.
    fn create_lease(&self) -> Result<bool, StoreError> {
        match File::create_new(&self.path) {
            Ok(mut file) => {
                let written = file.write_all(self.line.as_bytes());
                written.map_err(|error| self.file_error(error))?;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(self.file_error(error)),
        }
    }

    fn is_stale(&self, found: &str) -> bool {
        if found.parse().is_ok_and(|holder: Holder| holder.is_dead()) {
            return true;
        }
        // Both times are from the file system's clock, since hosts' clocks may differ.
        let written = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
        let (Ok(now), Ok(then)) = (written(&self.mine), written(&self.path)) else {
            return false;
        };
        now.duration_since(then).is_ok_and(|age| age > STALE)
    }

    /// Moves a stale lease away; returns false if another one had replaced the lease that was found.
    fn put_away(&self, found: &str) -> Result<bool, StoreError> {
        match fs::rename(&self.path, &self.old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            moved => moved.map_err(|error| self.file_error(error))?,
        }
        let is_same = has_line(&self.old, found);
        if !is_same {
            // Another process was faster: restore its lease.
            let _ = fs::hard_link(&self.old, &self.path);
        }
        let _ = fs::remove_file(&self.old);
        Ok(is_same)
    }

    fn locked_error(&self, found: &str) -> StoreError {
        let folder = self.path.parent().unwrap_or(&self.path);
        StoreError::Locked {
            store: folder.to_owned(),
            holder: found.parse().ok(),
        }
    }

    fn file_error(&self, source: io::Error) -> StoreError {
        StoreError::for_file(&self.path, source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_that_did_not_renew_its_lease_leaves_the_new_one_alone() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let lease = Lease::acquire(folder.path()).expect("free");
        let path = folder.path().join("lease");
        fs::remove_file(&path).expect("removed");
        let other = "1 far 1795000000000000000\n";
        fs::write(&path, other).expect("written");
        let mut renewal = Renewal {
            file: File::options().write(true).open(&path).expect("opened"),
            path: path.clone(),
            line: lease.line.clone(),
            is_lost: Arc::clone(&lease.is_lost),
        };
        renewal.renew();
        assert!(lease.is_lost());
        drop(lease);
        assert_eq!(fs::read_to_string(&path).expect("there"), other);
    }
}
