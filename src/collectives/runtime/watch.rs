//! Watches a table's file for changes, whenever a communicator is attached.
//!
//! With `COLLTUNE_RELOAD`, all ranks of the communicator compare digests of the tables that they have read and used
//! last.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use exec::ExecError;
use exec::constants::MPI_Comm;

use crate::agree::{are_same, first_text, is_first};
use crate::loaded::{Loaded, Stamp, open_with_stamp, unreadable_error};
use crate::table_mismatch::Host;
use crate::threads::lock;
use crate::versions::Version;
use crate::{RuntimeError, Settings};

/// A watched file, as seen by one rank.
#[derive(Debug)]
pub(crate) struct Watch {
    path: PathBuf,
    host: Host,
    settings: Settings,
    /// The state of the file at the last check, if it existed, and the result of reading it.
    stamp: Option<Stamp>,
    seen: Result<Arc<Version>, String>,
    /// The number of times that the file has been read.
    reads: u64,
    used: UsedVersion,
    /// The last warning, in order not to repeat it.
    warned: String,
}

/// The version that a rank used last.
#[derive(Debug)]
struct UsedVersion {
    version: Arc<Version>,
    /// Which reading of the file it comes from.
    read: u64,
    replacements: u64,
}

impl UsedVersion {
    /// Uses what one reading of the file has found from now on, unless another thread has used a later one meanwhile.
    fn replace(&mut self, version: &Arc<Version>, read: u64) {
        if read < self.read {
            return;
        }
        self.read = read;
        if version.loaded.digest != self.version.loaded.digest {
            self.version = Arc::clone(version);
            self.replacements += 1;
        }
    }
}

impl Watch {
    pub(crate) fn new(first: &Arc<Version>, host: Host, settings: Settings) -> Self {
        Self {
            path: first.loaded.path.clone(),
            host,
            settings,
            stamp: Some(first.loaded.stamp),
            seen: Ok(Arc::clone(first)),
            reads: 0,
            used: UsedVersion {
                version: Arc::clone(first),
                read: 0,
                replacements: 0,
            },
            warned: String::new(),
        }
    }

    pub(crate) fn replacements(&self) -> u64 {
        self.used.replacements
    }

    /// The version that this rank used last.
    pub(crate) fn current(&self) -> &Arc<Version> {
        &self.used.version
    }

    /// Uses the version of a reading of the file from now on.
    fn use_version(&mut self, version: &Arc<Version>, read: u64) {
        self.used.replace(version, read);
        self.warned.clear();
    }

    /// Reads the file if its state has changed.
    fn read_if_changed(&mut self, first: &Arc<Version>) {
        let opened = open_with_stamp(&self.path);
        let stamp = opened.as_ref().ok().map(|(_, stamp)| *stamp);
        // A missing file is retried, as the reason may differ each time.
        if stamp.is_some() && stamp == self.stamp {
            return;
        }
        self.stamp = stamp;
        self.reads += 1;
        let read = opened
            .map_err(|source| unreadable_error(&self.path, source))
            .and_then(|(file, file_stamp)| Loaded::read_open(&self.path, &file, file_stamp));
        self.seen = read
            .map_err(RuntimeError::from)
            .and_then(|loaded| {
                let mut mismatches = self.host.own_mismatches(&loaded.table).into_iter();
                let force = self.settings.force;
                match mismatches.find(|mismatch| !mismatch.is_forced(force)) {
                    Some(mismatch) => Err(mismatch.into()),
                    None => Ok(self.reuse_version(loaded, first)),
                }
            })
            .map_err(|error| error.to_string());
    }

    /// Reuses the rules of a known version.
    fn reuse_version(&self, loaded: Loaded, first: &Arc<Version>) -> Arc<Version> {
        let mut known = [&self.used.version, first].into_iter();
        match known.find(|known| known.loaded.digest == loaded.digest) {
            Some(known) => Arc::clone(known),
            None => Arc::new(Version::new(loaded, self.settings.policy)),
        }
    }

    /// Reports once why the file is not used.
    fn warn_of_rejection(&mut self, why: Option<String>, is_first: bool) {
        let why = why.unwrap_or_else(|| "not all ranks have read the same".to_owned());
        let path = self.path.display();
        let text = format!("the old table is kept, as {path} has changed and is not used: {why}");
        if let Some(warn) = self
            .settings
            .warn
            .filter(|_| is_first && text != self.warned)
        {
            warn(&text);
        }
        self.warned = text;
    }
}

/// The version for a communicator, the same on all of its ranks: the file's current content if all of them have read the
/// same and can use it; otherwise the version that they used last, if it is the same; otherwise the first one, which is
/// always the same. Collective.
///
/// The watch is not locked while ranks wait for each other: other threads may agree about other communicators meanwhile.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn agree_on_version(
    watch: &Mutex<Watch>,
    communicator: MPI_Comm,
    first: &Arc<Version>,
) -> Result<Arc<Version>, ExecError> {
    let (seen, read, current) = {
        let mut watch = lock(watch);
        watch.read_if_changed(first);
        (watch.seen.clone(), watch.reads, Arc::clone(watch.current()))
    };
    let digest = |version: &Arc<Version>| version.loaded.digest;
    let seen_digest = seen.as_ref().map_or(0, digest);
    let numbers = [seen.is_ok().into(), seen_digest, digest(&current)];
    // SAFETY: the caller promises that the communicator is a valid intracommunicator.
    let same = unsafe { are_same(communicator, &numbers)? };
    match &seen {
        Ok(version) if same[..2] == [true, true] => {
            lock(watch).use_version(version, read);
            Ok(Arc::clone(version))
        }
        _ => {
            // SAFETY: the caller promises that the communicator is a valid intracommunicator; all of its ranks reach
            // this point, since they have found the same.
            let (why, is_first) = unsafe {
                let why = first_text(communicator, seen.as_ref().err())?;
                (why, is_first(communicator)?)
            };
            lock(watch).warn_of_rejection(why, is_first);
            Ok(if same[2] { current } else { Arc::clone(first) })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use table::Policy;

    use super::UsedVersion;
    use crate::Loaded;
    use crate::versions::Version;

    const RULES: &str = "  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        rules:
          - {from: 0, candidate: default, confidence: high}
";

    #[test]
    fn a_thread_that_is_late_does_not_bring_an_older_table_back() {
        let [first, second, third] = ["a", "b", "c"].map(|name| {
            let text = testkit::tables::table_yaml(name, "openmpi", "4.1.4", RULES);
            let loaded = Loaded::from(testkit::tables::parse_table(&text));
            Arc::new(Version::new(loaded, Policy::default()))
        });
        let mut used = UsedVersion {
            version: Arc::clone(&first),
            read: 0,
            replacements: 0,
        };
        used.replace(&second, 1);
        // Another thread has looked at the file before this one.
        used.replace(&first, 0);
        used.replace(&second, 1);
        assert!(Arc::ptr_eq(&used.version, &second));
        assert_eq!(used.replacements, 1);
        used.replace(&third, 2);
        used.replace(&first, 3);
        assert!(Arc::ptr_eq(&used.version, &first));
        assert_eq!(used.replacements, 3);
    }
}
