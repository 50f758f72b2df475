//! What a child prints, within bounds.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The longest line that is read; longer ones are passed over.
const LONGEST_LINE: usize = 16 << 20;
/// The longest log of a task: what comes after that is dropped.
const LONGEST_LOG: u64 = 4 << 20;
/// The most bytes of an error that is quoted.
const LONGEST_ERROR: usize = 2000;

/// Reads lines until the end.
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

/// Adds to a log what comes until the end, as far as it has room; the last line that tells an error.
pub(super) fn keep_log(from: impl Read, path: &Path) -> io::Result<Option<String>> {
    let mut options = OpenOptions::new();
    let mut log = options.append(true).create(true).mode(0o600).open(path)?;
    let mut length = log.metadata()?.len();
    let mut error = None;
    read_lines(from, |line| {
        if let Some(told) = line.strip_prefix(b"error: ") {
            let told = &told[..told.len().min(LONGEST_ERROR)];
            error = Some(String::from_utf8_lossy(told).into_owned());
        }
        if length > LONGEST_LOG {
            return;
        }
        length += line.len() as u64 + 1;
        let full: &[u8] = match length > LONGEST_LOG {
            true => b"(the log is full; the rest is not kept)\n",
            false => b"",
        };
        // If the disk is full, the task goes on without a log.
        let _ = log.write_all(&[line, b"\n", full].concat());
    })?;
    Ok(error)
}
