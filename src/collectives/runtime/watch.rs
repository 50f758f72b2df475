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
    /// The version that this rank used last.
    current: Arc<Version>,
    replacements: u64,
    /// The last warning, in order not to repeat it.
    warned: String,
}

impl Watch {
    pub(crate) fn new(first: &Arc<Version>, host: Host, settings: Settings) -> Self {
        Self {
            path: first.loaded.path.clone(),
            host,
            settings,
            stamp: Some(first.loaded.stamp),
            seen: Ok(Arc::clone(first)),
            current: Arc::clone(first),
            replacements: 0,
            warned: String::new(),
        }
    }

    pub(crate) fn replacements(&self) -> u64 {
        self.replacements
    }

    /// The version that this rank used last.
    pub(crate) fn current(&self) -> &Arc<Version> {
        &self.current
    }

    /// Uses a version from now on.
    fn use_version(&mut self, version: &Arc<Version>) {
        if version.loaded.digest != self.current.loaded.digest {
            self.current = Arc::clone(version);
            self.replacements += 1;
        }
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
        let mut known = [&self.current, first].into_iter();
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
    let (seen, current) = {
        let mut watch = lock(watch);
        watch.read_if_changed(first);
        (watch.seen.clone(), Arc::clone(&watch.current))
    };
    let digest = |version: &Arc<Version>| version.loaded.digest;
    let seen_digest = seen.as_ref().map_or(0, digest);
    let numbers = [seen.is_ok().into(), seen_digest, digest(&current)];
    // SAFETY: the caller promises that the communicator is a valid intracommunicator.
    let same = unsafe { are_same(communicator, &numbers)? };
    match &seen {
        Ok(version) if same[..2] == [true, true] => {
            lock(watch).use_version(version);
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
