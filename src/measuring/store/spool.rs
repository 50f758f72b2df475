//! The reader of the file that a driver writes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use wire::Record;

use crate::StoreError;

/// Reads the records of a spool file while it grows.
///
/// Only complete lines count. An incomplete last line is kept and continued when more of it has been written; if the
/// driver died while writing it, it is never returned.
#[derive(Debug)]
pub struct SpoolReader {
    path: PathBuf,
    file: Option<BufReader<File>>,
    line: Vec<u8>,
    number: u64,
}

impl SpoolReader {
    /// A reader at the beginning of the file, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            line: Vec::new(),
            number: 0,
        }
    }

    /// The next record; `None` if there is no further complete line yet.
    ///
    /// # Errors
    /// [`StoreError::Spool`] for a complete line that is not a record; the next call continues after it.
    /// [`StoreError::File`] if the file cannot be read.
    pub fn next_record(&mut self) -> Result<Option<Record>, StoreError> {
        let file = match &mut self.file {
            Some(file) => file,
            None => match files::open_regular(&self.path) {
                Ok(file) => self.file.insert(BufReader::new(file)),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(source) => return Err(StoreError::for_file(&self.path, source)),
            },
        };
        let room = files::MOST_BYTES.saturating_sub(self.line.len() as u64);
        file.take(room)
            .read_until(b'\n', &mut self.line)
            .map_err(|source| StoreError::for_file(&self.path, source))?;
        if self.line.last() != Some(&b'\n') {
            return if self.line.len() as u64 >= files::MOST_BYTES {
                Err(StoreError::for_file(
                    &self.path,
                    line_too_long_error(self.number + 1),
                ))
            } else {
                Ok(None)
            };
        }
        self.number += 1;
        let record = serde_json::from_slice(&self.line);
        self.line.clear();
        record.map(Some).map_err(|source| StoreError::Spool {
            path: self.path.clone(),
            line: self.number,
            source,
        })
    }
}

fn line_too_long_error(line: u64) -> io::Error {
    let most = files::MOST_BYTES >> 20;
    io::Error::other(format!("line {line} is longer than {most} MiB"))
}
