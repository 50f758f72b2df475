//! The lock that tells ranks whether their command is alive.

use std::fs::File;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::TunerError;

/// A lock on a file of the launch, whose release tells the ranks that their command has ended.
///
/// The lock is not that of the store: a command that continues after a kill locks the store at once, which must not
/// keep the ranks of the killed launch alive.
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
        // The ranks have this account. Any other one that could open the file could keep the lock when it is released.
        let file = files::open_lock(path, 0o600).map_err(failed)?;
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
        // A file that is left behind is empty and does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Another account that held it would keep ranks alive whose command was killed.
    #[test]
    fn only_the_own_account_can_open_the_file() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("1.lock");
        let lock = ParentAliveLock::hold(&path).expect("held");
        let mode = std::fs::metadata(&path)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o600);
        drop(lock);
        assert!(!path.exists());
    }
}
