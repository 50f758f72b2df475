//! Reading within bounds.

use std::fs::{File, OpenOptions};
use std::io::{self, Error, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc::O_NONBLOCK;

/// The largest file that is read whole: 64 MiB.
pub const MOST_BYTES: u64 = 64 << 20;

/// A regular file, open for reading.
#[derive(Debug)]
pub struct Bounded {
    file: File,
}

/// Opens a regular file, and never waits for it: a FIFO has no end to wait for.
///
/// # Errors
///
/// Those of the system, and [`ErrorKind::InvalidInput`] for anything but a regular file.
pub fn open(path: &Path) -> io::Result<Bounded> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(O_NONBLOCK)
        .open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(Bounded { file });
    }
    let what = if kind.is_dir() {
        "a folder"
    } else {
        "not a regular file"
    };
    Err(Error::new(ErrorKind::InvalidInput, format!("it is {what}")))
}

impl Bounded {
    /// The open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What the file holds.
    ///
    /// # Errors
    ///
    /// Those of the system, and [`ErrorKind::FileTooLarge`] for more than [`MOST_BYTES`].
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let length = (&self.file).take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if length as u64 > MOST_BYTES {
            let text = format!("it is larger than {} MiB", MOST_BYTES >> 20);
            return Err(Error::new(ErrorKind::FileTooLarge, text));
        }
        Ok(bytes)
    }

    /// What the file holds, as text; a byte order mark at its beginning is left out.
    ///
    /// # Errors
    ///
    /// As [`Self::bytes`], and [`ErrorKind::InvalidData`] for what is not UTF-8.
    pub fn text(&self) -> io::Result<String> {
        let mut text = String::from_utf8(self.bytes()?).map_err(|error| {
            Error::new(
                ErrorKind::InvalidData,
                format!("it is not UTF-8: {}", error.utf8_error()),
            )
        })?;
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Ok(text)
    }
}

/// Reads a regular file of at most [`MOST_BYTES`].
///
/// # Errors
///
/// As [`open`] and [`Bounded::bytes`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    open(path)?.bytes()
}

/// Reads a text, as [`read`].
///
/// # Errors
///
/// As [`open`] and [`Bounded::text`].
pub fn read_text(path: &Path) -> io::Result<String> {
    open(path)?.text()
}
