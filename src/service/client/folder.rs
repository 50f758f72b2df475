//! The folder that tables are pulled to.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use answers::Digest;
use files::{CURRENT, CurrentLink, Turns, VersionsError, VersionsFolder};
use serde::{Deserialize, Serialize};

use crate::{ChannelAddress, PullError, ServiceUrl};

/// The file with the response that made `current`.
const KNOWN: &str = ".pulled.json";
/// The suffix of tables.
const TABLE: &str = ".yaml";

/// The response that made `current`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownResponse {
    /// The URL of the request.
    pub(crate) url: String,
    pub(crate) etag: String,
    pub(crate) sequence: u64,
    pub(crate) digest: String,
}

/// A folder of pulled tables. After each method, `current` is absent or links to a complete table.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The same folder; how it is changed so that a crash does no harm.
    versions: VersionsFolder,
}

impl Folder {
    /// Opens and locks the folder; waits for other processes for up to `wait`. Creates the folder if necessary,
    /// readable by all users whatever the umask is.
    ///
    /// # Errors
    /// [`PullError::Untrusted`], [`PullError::Busy`], [`PullError::NotOurs`], [`PullError::File`].
    pub fn open(path: &Path, wait: Duration) -> Result<Self, PullError> {
        let path = std::path::absolute(path).map_err(PullError::on_file("find", path))?;
        files::check_folder(&path)?;
        linked_digest(&path)?;
        let opened = VersionsFolder::open(&path, true, Turns::LockedIfPossible(wait));
        let versions = opened.map_err(|error| changing_error(error, wait))?;
        Ok(Self { path, versions })
    }

    /// The digest and path of the table that `current` links to; `None` if there is none, or if it is damaged.
    pub fn last_good(path: &Path) -> Option<(String, PathBuf)> {
        let path = std::path::absolute(path).ok()?;
        let digest = linked_digest(&path).ok().flatten()?;
        let table = path.join(format!("{digest}{TABLE}"));
        is_undamaged(&table, &digest).then_some((digest, table))
    }

    /// As [`Self::last_good`]; `None` also if the disk does not answer within `limit`.
    pub fn last_good_within(path: &Path, limit: Duration) -> Option<(String, PathBuf)> {
        let path = path.to_owned();
        finish_within(limit, move || Self::last_good(&path)).flatten()
    }

    /// A folder name for a channel of a service, distinct from the names for other channels and services.
    pub fn name_for_channel(url: &ServiceUrl, channel: &ChannelAddress) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        let name = channel.to_string();
        let name = name.chars().map(|c| if is_plain(c) { c } else { '_' });
        let digest = Digest::of_bytes(format!("{url} {channel}").as_bytes());
        format!("{}_{}", name.collect::<String>(), &digest.as_str()[..8])
    }

    /// The path of a table.
    pub fn table_path(&self, digest: &str) -> PathBuf {
        self.path.join(format!("{digest}{TABLE}"))
    }

    /// Whether the folder has a table and the table is undamaged.
    pub(crate) fn has_table(&self, digest: &str) -> bool {
        is_undamaged(&self.table_path(digest), digest)
    }

    /// The response that made `current`, if it came from this URL and `current` still links to its undamaged table.
    pub(crate) fn known_response(&self, url: &str) -> Option<KnownResponse> {
        let text = files::read_text(&self.path.join(KNOWN)).ok()?;
        let known: KnownResponse = serde_json::from_str(&text).ok()?;
        let is_so = known.url == url
            && linked_digest(&self.path).ok().flatten().as_ref() == Some(&known.digest)
            && self.has_table(&known.digest);
        is_so.then_some(known)
    }

    /// Stores a table; it is synced to disk when this returns.
    pub(crate) fn store_table(&self, digest: &str, bytes: &[u8]) -> Result<(), PullError> {
        self.write_file(&self.table_path(digest), bytes)
    }

    /// Writes a file atomically, readable by all users.
    fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<(), PullError> {
        let written = self.versions.write_file(path, bytes, 0o444);
        written.map_err(|error| changing_error(error, Duration::ZERO))
    }

    /// Makes a stored table the current one.
    pub(crate) fn make_current(&self, digest: &str) -> Result<(), PullError> {
        if linked_digest(&self.path)?.as_deref() == Some(digest) {
            return Ok(());
        }
        let replaced = self.versions.make_current(&format!("{digest}{TABLE}"));
        replaced.map_err(|error| changing_error(error, Duration::ZERO))
    }

    /// Stores the response that made `current`.
    pub(crate) fn remember_response(&self, known: &KnownResponse) -> Result<(), PullError> {
        let text = serde_json::to_vec(known).unwrap_or_default();
        self.write_file(&self.path.join(KNOWN), &text)
    }

    /// Removes all tables but these and the current one.
    pub(crate) fn keep_only(&self, digests: &[&str]) -> Result<(), PullError> {
        // Another process may need them.
        if !self.versions.is_locked() {
            return Ok(());
        }
        let current = linked_digest(&self.path)?;
        let listed = fs::read_dir(&self.path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        for entry in listed.map_err(PullError::on_file("list", &self.path))? {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let digest = name.strip_suffix(TABLE).filter(|digest| is_digest(digest));
            let is_old = digest.is_some_and(|digest| {
                !digests.contains(&digest) && current.as_deref() != Some(digest)
            });
            if is_old {
                let removed = self.versions.remove_version(name);
                removed.map_err(|error| changing_error(error, Duration::ZERO))?;
            }
        }
        Ok(())
    }
}

/// Whether a text is a digest, so that it is safe as a file name.
fn is_digest(text: &str) -> bool {
    text.parse::<Digest>().is_ok()
}

fn is_undamaged(table: &Path, digest: &str) -> bool {
    files::read(table).is_ok_and(|bytes| Digest::of_bytes(&bytes).as_str() == digest)
}

/// The digest of the table that `current` links to.
fn linked_digest(folder: &Path) -> Result<Option<String>, PullError> {
    let path = folder.join(CURRENT);
    let link = match CurrentLink::read(folder) {
        // There is a file in the place of the folder.
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
        link => link.map_err(PullError::on_file("read", &path))?,
    };
    let name = link.version_name();
    let digest = name.and_then(|name| name.strip_suffix(TABLE));
    match digest.filter(|digest| is_digest(digest)) {
        Some(digest) => Ok(Some(digest.to_owned())),
        None if link == CurrentLink::Missing => Ok(None),
        None => Err(PullError::NotOurs { path }),
    }
}

/// The error of a change to the folder, for which another process was waited for at most so long.
fn changing_error(error: VersionsError, limit: Duration) -> PullError {
    match error {
        VersionsError::Untrusted(untrusted) => untrusted.into(),
        VersionsError::Busy { folder } => PullError::Busy { folder, limit },
        VersionsError::File {
            action,
            path,
            source,
        } => PullError::File {
            action,
            path,
            source,
        },
    }
}

/// Does work that the disk may hold up on a thread of its own, which is left behind if it is stuck. `None` if the work
/// does not end within `limit`.
fn finish_within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::Builder::new().name("last good table".to_owned());
    let begun = thread.spawn(move || {
        // Nobody receives it if the limit is over.
        let _ = sender.send(work());
    });
    begun.ok()?;
    receiver.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_is_stuck_is_left_behind() {
        let (_held, until) = mpsc::channel::<()>();
        let stuck = move || until.recv().is_ok();
        assert_eq!(finish_within(Duration::from_millis(10), stuck), None);
        assert_eq!(finish_within(Duration::from_secs(20), || 5), Some(5));
    }
}
