//! Reads the output of a child, within limits.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The longest line that is read; longer lines are skipped.
const LONGEST_LINE: usize = 16 << 20;
/// The longest log of a task, in bytes; further output is dropped.
const LONGEST_LOG: u64 = 4 << 20;
/// The longest error message that is kept, in bytes.
const LONGEST_ERROR: usize = 2000;

/// Calls `each` for every line.
pub(super) fn read_lines(from: impl Read, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = LONGEST_LINE as u64 + 1;
        if (&mut reader).take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.len() > LONGEST_LINE && !line.ends_with(b"\n") {
            reader.skip_until(b'\n')?;
        } else {
            each(line.trim_ascii_end());
        }
    }
}

/// Appends lines to a log up to [`LONGEST_LOG`]. Returns the last line that reports an error. If the log cannot be
/// written, as on a full disk, `on_failure` gets the error, and the task continues without the log.
pub(super) fn keep_log(
    from: impl Read,
    path: &Path,
    on_failure: impl Fn(&io::Error),
) -> io::Result<Option<String>> {
    let opened = open_log(path).inspect_err(&on_failure).ok();
    let (mut log, mut length) = opened.unzip();
    let mut error = None;
    read_lines(from, |line| {
        if let Some(message) = line.strip_prefix(b"error: ") {
            let message = &message[..message.len().min(LONGEST_ERROR)];
            error = Some(String::from_utf8_lossy(message).into_owned());
        }
        let (Some(log), Some(length)) = (&mut log, &mut length) else {
            return;
        };
        if *length > LONGEST_LOG {
            return;
        }
        *length += line.len() as u64 + 1;
        let full: &[u8] = if *length > LONGEST_LOG {
            b"(the log is full; the rest is not kept)\n"
        } else {
            b""
        };
        if let Err(failure) = log.write_all(&[line, b"\n", full].concat()) {
            on_failure(&failure);
        }
    })?;
    Ok(error)
}

/// The log and its length.
fn open_log(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    let log = options.append(true).create(true).mode(0o600).open(path)?;
    let length = log.metadata()?.len();
    Ok((log, length))
}
