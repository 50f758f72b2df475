//! How ranks see that a command waits for them.

use std::fs::File;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::TunerError;

/// The lock on a launch's own file by which its ranks see that a command waits for them.
///
/// It is the launch's own, not the store's: a command that continues after a kill locks the store at
/// once, and must not thereby keep the ranks of the killed launch alive.
pub(super) struct ParentAliveLock {
    path: PathBuf,
    _lock: Flock<File>,
}

impl ParentAliveLock {
    pub(super) fn hold(path: &Path) -> Result<Self, TunerError> {
        let failed = |source| TunerError::File {
            action: "lock",
            path: path.to_owned(),
            source,
        };
        let file = File::create(path).map_err(failed)?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, errno)| failed(errno.into()))?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }
}

impl Drop for ParentAliveLock {
    fn drop(&mut self) {
        // Left behind, it is an empty file and nothing worse.
        let _ = std::fs::remove_file(&self.path);
    }
}
