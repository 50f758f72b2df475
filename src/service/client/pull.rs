//! Pulling a channel's table.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use answers::{Digest, Manifest};
use table::Table;

use crate::folder::{Folder, KnownResponse};
use crate::{Ask, ChannelAddress, PullError, Remote, encode_query};

/// The largest manifest: 1 MiB, enough for 10 000 digests.
const MANIFEST: u64 = 1 << 20;

/// The most tables that a manifest may keep.
const MOST_KEPT: usize = 10_000;

/// The result of a pull.
#[derive(Debug)]
pub struct Pulled {
    /// The digest of the channel's table.
    pub digest: String,
    /// The path of the table's file, which never changes. Give jobs this path, not that of `current`.
    pub table: PathBuf,
    /// The number of the release.
    pub sequence: u64,
    /// Whether another table, or none, was current before this pull.
    pub is_new: bool,
    /// The number of tables that running jobs may still use and that could not be fetched, with the first error.
    pub missing: Option<(usize, PullError)>,
}

/// The time that this host waits before its request: from zero to `most`, derived from the host's name. So the hosts
/// of a cluster wait for different times, and each host always waits for the same time.
pub fn host_delay(most: Duration) -> Duration {
    let digest = Digest::of_bytes(host_name().as_bytes());
    let part = u32::from_str_radix(&digest.as_str()[..8], 16).unwrap_or(0);
    most.mul_f64(f64::from(part) / f64::from(u32::MAX))
}

/// The time that a pull has to report, with the cause, that its limit is over.
const GRACE: Duration = Duration::from_millis(200);

/// Pulls the table of a channel into a folder, with all tables that running jobs may still use, within `limit`:
/// requests the manifest if it has changed; fetches missing tables, checks their digests and parses them strictly;
/// updates `current`; and removes tables that are no longer kept, on a full disk before the new one is stored.
///
/// The limit holds whatever takes long: another process in the folder, the service, the disk, a large table. The work
/// is done by a thread of its own, which is left behind if it is stuck. The folder is valid at every moment, so that
/// the process may end, or the thread go on.
///
/// # Errors
/// [`PullError`]; the folder then has the same table as before.
pub fn pull_table(
    remote: Remote,
    channel: ChannelAddress,
    folder: &Path,
    limit: Duration,
) -> Result<Pulled, PullError> {
    let folder = folder.to_owned();
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        // Nobody receives it if the limit is over.
        let _ = sender.send(pull_within(&remote, &channel, &folder, limit));
    };
    let thread = thread::Builder::new().name("pull".to_owned());
    let thread = thread.spawn(work).map_err(PullError::Thread)?;
    match receiver.recv_timeout(limit + GRACE) {
        Ok(pulled) => pulled,
        Err(RecvTimeoutError::Timeout) => Err(PullError::Late { limit }),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => Err(PullError::Late { limit }),
        },
    }
}

fn pull_within(
    remote: &Remote,
    channel: &ChannelAddress,
    folder: &Path,
    limit: Duration,
) -> Result<Pulled, PullError> {
    let until = Deadline {
        end: Instant::now() + limit,
        limit,
    };
    let folder = Folder::open(folder, limit)?;
    let path = channel.path();
    let url = remote.shown_url(&path);
    let known = folder.known_response(&url);
    let Some((manifest, etag)) = request_manifest(remote, channel, known.as_ref(), until)? else {
        let known = known.ok_or_else(|| {
            remote.unexpected_answer(&path, "it answers 304 to a request without conditions")
        })?;
        return Ok(Pulled {
            table: folder.table_path(&known.digest),
            digest: known.digest,
            sequence: known.sequence,
            is_new: false,
            missing: None,
        });
    };
    let Manifest {
        digest,
        sequence,
        keep,
        ..
    } = manifest;
    let digest = digest.as_str();
    let mut kept: Vec<&str> = keep.iter().map(Digest::as_str).collect();
    kept.push(digest);
    match fetch_table(remote, &folder, digest, until) {
        // Old tables and those of killed pulls would otherwise prevent the new one for ever.
        Err(error) if files::is_disk_full(&error) => {
            folder.keep_only(&kept)?;
            fetch_table(remote, &folder, digest, until)?;
        }
        fetched => fetched?,
    }
    let mut missing = None;
    for kept_digest in &keep {
        if let Err(error) = fetch_table(remote, &folder, kept_digest.as_str(), until) {
            let (count, first) = missing.take().unwrap_or((0, error));
            missing = Some((count + 1, first));
        }
    }
    let is_new = known.is_none_or(|known| known.digest != digest);
    folder.make_current(digest)?;
    if let Some(etag) = etag.filter(|_| missing.is_none()) {
        folder.remember_response(&KnownResponse {
            url,
            etag,
            sequence,
            digest: digest.to_owned(),
        })?;
    }
    folder.keep_only(&kept)?;
    Ok(Pulled {
        table: folder.table_path(digest),
        digest: digest.to_owned(),
        sequence,
        is_new,
        missing,
    })
}

/// Requests the manifest and its ETag; `None` if the manifest has not changed.
fn request_manifest(
    remote: &Remote,
    channel: &ChannelAddress,
    known: Option<&KnownResponse>,
    until: Deadline,
) -> Result<Option<(Manifest, Option<String>)>, PullError> {
    let host = host_name();
    // Lets the service list the hosts that pull.
    let client = encode_query(&[("client", &*host)][usize::from(host.is_empty())..]);
    let path = channel.path() + &client;
    let mut ask = Ask::get(&path).with_limits(until.time_left()?, MANIFEST);
    if let Some(known) = known {
        ask = ask.with_header("if-none-match", &known.etag);
    }
    let answer = remote.send_request(ask)?;
    if answer.status == 304 {
        return Ok(None);
    }
    let manifest: Manifest = serde_json::from_slice(&answer.body).map_err(|error| {
        remote.unexpected_answer(&path, format_args!("invalid manifest: {error}"))
    })?;
    match find_manifest_problem(&manifest, channel) {
        None => Ok(Some((manifest, answer.etag))),
        Some(problem) => Err(remote.unexpected_answer(&path, problem).into()),
    }
}

/// Checks the manifest of a channel; returns what is wrong, if anything.
fn find_manifest_problem(manifest: &Manifest, channel: &ChannelAddress) -> Option<String> {
    let key = &manifest.key;
    let is_asked_for = key.machine == channel.machine
        && key.library == channel.library
        && key.channel.to_string() == channel.channel;
    if !is_asked_for {
        return Some("the manifest is that of another channel".to_owned());
    }
    let is_long = manifest.keep.len() > MOST_KEPT;
    is_long.then(|| format!("the manifest keeps more than {MOST_KEPT} tables"))
}

/// Fetches a table, unless the folder has it.
fn fetch_table(
    remote: &Remote,
    folder: &Folder,
    digest: &str,
    until: Deadline,
) -> Result<(), PullError> {
    if folder.has_table(digest) {
        return Ok(());
    }
    let path = format!("/blobs/{digest}");
    let answer =
        remote.send_request(Ask::get(&path).with_limits(until.time_left()?, files::MOST_BYTES))?;
    let url = remote.shown_url(&path);
    let found = Digest::of_bytes(&answer.body).to_string();
    if found != digest {
        return Err(PullError::Damaged { url, found });
    }
    let parsed = match std::str::from_utf8(&answer.body) {
        Ok(text) => Table::parse(text, Path::new(&format!("{digest}.yaml"))).map(drop),
        Err(_) => {
            return Err(remote
                .unexpected_answer(&path, "it is not UTF-8 text")
                .into());
        }
    };
    parsed.map_err(|source| PullError::Table {
        url,
        source: Box::new(source),
    })?;
    folder.store_table(digest, &answer.body)
}

/// The end of a pull's time.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    end: Instant,
    /// The whole time.
    limit: Duration,
}

impl Deadline {
    /// The time left.
    fn time_left(self) -> Result<Duration, PullError> {
        let left = self.end.saturating_duration_since(Instant::now());
        let limit = self.limit;
        if left.is_zero() {
            Err(PullError::Late { limit })
        } else {
            Ok(left)
        }
    }
}

/// The name of this host, reduced to what a service accepts: 64 letters, digits, `.`, `-` and `_`.
pub fn host_name() -> String {
    let name = files::read_text(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || ".-_".contains(*c);
    name.trim().chars().filter(is_plain).take(64).collect()
}
