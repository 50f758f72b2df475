//! Reading within bounds.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Error, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc::{O_NOCTTY, O_NONBLOCK};

/// The largest file that is read whole: 64 MiB.
pub const MOST_BYTES: u64 = 64 << 20;

/// Opens a regular file for reading without ever blocking: FIFOs and devices are refused without being opened.
///
/// # Errors
///
/// Those of the system, [`ErrorKind::IsADirectory`] for a folder, and [`ErrorKind::InvalidInput`] for any other file
/// that is not regular.
pub fn open_regular(path: &Path) -> io::Result<File> {
    require_regular(fs::metadata(path)?.file_type())?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(O_NONBLOCK | O_NOCTTY)
        .open(path)?;
    // Another file may have taken the name in between.
    require_regular(file.metadata()?.file_type())?;
    Ok(file)
}

pub(crate) fn require_regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(Error::new(ErrorKind::IsADirectory, "it is a folder"))
    } else {
        let text = "it is a device, a FIFO or a socket, not a regular file";
        Err(Error::new(ErrorKind::InvalidInput, text))
    }
}

/// The bytes of an open file from its position on.
///
/// # Errors
///
/// Those of the system, and [`ErrorKind::FileTooLarge`] for more than `most` bytes.
pub fn bytes_of(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let is_large = file.metadata()?.len() > most;
    // The file may grow, and files in /proc report a length of 0.
    if is_large || file.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        let text = format!("it is larger than {} MiB", most >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// The text of an open file from its position on, without a byte order mark at the beginning.
///
/// # Errors
///
/// Those of [`bytes_of`] with the limit [`MOST_BYTES`], and [`ErrorKind::InvalidData`], which names the first line that
/// is not UTF-8.
pub fn text_of(file: &File) -> io::Result<String> {
    let mut text = String::from_utf8(bytes_of(file, MOST_BYTES)?).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        let text = format!("line {line} is not UTF-8 text");
        Error::new(ErrorKind::InvalidData, text)
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// Reads a regular file of at most [`MOST_BYTES`].
///
/// # Errors
///
/// Those of [`open_regular`] and [`bytes_of`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    bytes_of(&open_regular(path)?, MOST_BYTES)
}

/// Reads a regular file of at most [`MOST_BYTES`] as UTF-8 text.
///
/// # Errors
///
/// Those of [`open_regular`] and [`text_of`].
pub fn read_text(path: &Path) -> io::Result<String> {
    text_of(&open_regular(path)?)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let fifo = folder.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).expect("a FIFO");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&fifo, &link).expect("a link");
        let kind = |path: &Path| read(path).expect_err("refused").kind();
        for path in [&fifo, &link, &PathBuf::from("/dev/zero")] {
            assert_eq!(kind(path), ErrorKind::InvalidInput, "{path:?}");
        }
        assert_eq!(kind(folder.path()), ErrorKind::IsADirectory);
        assert_eq!(kind(&folder.path().join("none")), ErrorKind::NotFound);
    }

    #[test]
    fn files_that_are_too_large_are_not_read() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(MOST_BYTES).expect("grown");
        assert_eq!(
            bytes_of(&file, MOST_BYTES).expect("read").len() as u64,
            MOST_BYTES
        );
        for length in [MOST_BYTES + 1, 1 << 40] {
            file.set_len(length).expect("grown");
            let error = bytes_of(&file, MOST_BYTES).expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        }
        // Files of the kernel have no length, and some have no end.
        assert!(!read(Path::new("/proc/self/maps")).expect("read").is_empty());
    }

    #[test]
    fn byte_order_marks_are_removed_and_errors_name_the_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("text");
        let text = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("written");
            read_text(&path)
        };
        assert_eq!(text("\u{feff}ä\n".as_bytes()).expect("text"), "ä\n");
        assert_eq!(text(b"").expect("text"), "");
        let error = text(b"a\nb\nc\xff").expect_err("no text");
        assert_eq!(error.to_string(), "line 3 is not UTF-8 text");
    }
}
