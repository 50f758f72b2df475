//! Bringing a channel's table here.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use table::Table;

use crate::answers::Manifest;
use crate::folder::{Folder, Known, digest_of};
use crate::{Ask, ChannelAddress, PullError, Remote, query};

/// The largest manifest: 1 MiB, which has room for 10 000 digests.
const MANIFEST: u64 = 1 << 20;

/// What a request has at least, however late it is.
const LEAST: Duration = Duration::from_millis(1);

/// What was brought.
#[derive(Debug)]
pub struct Pulled {
    /// The channel's table.
    pub digest: String,
    /// Its file. It never changes, so jobs are given this path and not that of `current`.
    pub table: PathBuf,
    /// The number of the release.
    pub sequence: u64,
    /// Whether another table was current before, or none.
    pub is_new: bool,
    /// Tables that running jobs may still use and that could not be brought, with the reason of the first.
    pub missing: Option<(usize, PullError)>,
}

/// How long this host waits before it asks: between nothing and `most`, drawn from the host's name. So all hosts of a
/// cluster ask at different times, and each always at the same one.
pub fn jitter(most: Duration) -> Duration {
    let digest = digest_of(host_name().as_bytes());
    let part = u32::from_str_radix(&digest[..8], 16).unwrap_or(0);
    most.mul_f64(f64::from(part) / f64::from(u32::MAX))
}

/// Brings the table of a channel to a folder, with all tables that running jobs may still use, within `limit`: asks
/// whether there is another one than last time; if so, takes it, checks it against its digest and reads it strictly,
/// puts it beside the others, makes `current` lead to it, and removes tables that are not kept any more.
///
/// # Errors
/// [`PullError`]. Then the folder has the table that it had before.
pub fn pull(
    remote: &Remote,
    channel: &ChannelAddress,
    folder: &Path,
    limit: Duration,
) -> Result<Pulled, PullError> {
    let until = Instant::now() + limit;
    let folder = Folder::open(folder, limit)?;
    let path = channel.path();
    let url = remote.shown(&path);
    let known = folder.known(&url);
    let Some((manifest, etag)) = manifest(remote, channel, known.as_ref(), until)? else {
        let known =
            known.ok_or_else(|| remote.strange(&path, "nothing has changed since never"))?;
        return Ok(Pulled {
            table: folder.table(&known.digest),
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
    fetch(remote, &folder, &digest, until)?;
    let mut kept: Vec<&str> = keep.iter().map(String::as_str).collect();
    kept.push(&digest);
    let mut missing = None;
    for digest in &keep {
        if let Err(error) = fetch(remote, &folder, digest, until) {
            let (count, first) = missing.take().unwrap_or((0, error));
            missing = Some((count + 1, first));
        }
    }
    let is_new = known.is_none_or(|known| known.digest != digest);
    folder.make_current(&digest)?;
    if let Some(etag) = etag.filter(|_| missing.is_none()) {
        folder.remember(&Known {
            url,
            etag,
            sequence,
            digest: digest.clone(),
        })?;
    }
    folder.keep(&kept)?;
    Ok(Pulled {
        table: folder.table(&digest),
        digest,
        sequence,
        is_new,
        missing,
    })
}

/// The manifest with its ETag; `None` if it is what it was.
fn manifest(
    remote: &Remote,
    channel: &ChannelAddress,
    known: Option<&Known>,
    until: Instant,
) -> Result<Option<(Manifest, Option<String>)>, PullError> {
    let host = host_name();
    // So that a service knows which hosts ask, and which do not any more.
    let client = query(&[("client", &*host)][usize::from(host.is_empty())..]);
    let path = channel.path() + &client;
    let mut ask = Ask::get(&path).within(left(until), MANIFEST);
    if let Some(known) = known {
        ask = ask.header("if-none-match", &known.etag);
    }
    let answer = remote.ask(ask)?;
    if answer.status == 304 {
        return Ok(None);
    }
    let manifest: Manifest = serde_json::from_slice(&answer.body)
        .map_err(|error| remote.strange(&path, format_args!("its manifest: {error}")))?;
    match manifest.problem(channel) {
        None => Ok(Some((manifest, answer.etag))),
        Some(problem) => Err(remote.strange(&path, problem).into()),
    }
}

/// Brings a table, if it is not here.
fn fetch(remote: &Remote, folder: &Folder, digest: &str, until: Instant) -> Result<(), PullError> {
    if folder.has(digest) {
        return Ok(());
    }
    let path = format!("/blobs/{digest}");
    let answer = remote.ask(Ask::get(&path).within(left(until), files::MOST_BYTES))?;
    let url = remote.shown(&path);
    let found = digest_of(&answer.body);
    if found != digest {
        return Err(PullError::Damaged { url, found });
    }
    let parsed = match std::str::from_utf8(&answer.body) {
        Ok(text) => Table::parse(text, Path::new(&format!("{digest}.yaml"))).map(drop),
        Err(_) => return Err(remote.strange(&path, "it is not UTF-8 text").into()),
    };
    parsed.map_err(|source| PullError::Table {
        url,
        source: Box::new(source),
    })?;
    folder.put(digest, &answer.body)
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now()).max(LEAST)
}

/// The name of this host, as far as a service takes it: 64 letters, digits, `.`, `-` and `_`.
fn host_name() -> String {
    let name = files::read_text(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || ".-_".contains(*c);
    name.trim().chars().filter(is_plain).take(64).collect()
}
