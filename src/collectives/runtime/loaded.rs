//! A table read from a file.

use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use table::{Table, TableError};

/// A table with a digest, by which ranks check that they have the same table.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The table.
    pub table: Table,
    /// The digest; equal for equal tables among programs of one build.
    pub digest: u64,
    /// The SHA-256 of the file's bytes in hexadecimal digits, by which a service names tables; empty without a file.
    pub sha256: String,
    /// Its file.
    pub(crate) path: PathBuf,
    /// The file's state when it was read.
    pub(crate) stamp: Stamp,
}

/// Properties of a file that show whether it was changed or replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stamp {
    file: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Loaded {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// As [`Table::load`].
    pub fn read(path: &Path) -> Result<Self, TableError> {
        let (file, stamp) =
            open_with_stamp(path).map_err(|source| unreadable_error(path, source))?;
        Self::read_open(path, &file, stamp)
    }

    /// Reads a table from an opened file.
    pub(crate) fn read_open(path: &Path, file: &File, stamp: Stamp) -> Result<Self, TableError> {
        let text = files::text_of(file).map_err(|source| unreadable_error(path, source))?;
        let table = Table::parse(&text, path)?;
        Ok(Self {
            // Absolute, as the program may change its working directory.
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            stamp,
            sha256: files::hexadecimal(&Sha256::digest(&text)),
            ..Self::from(table)
        })
    }
}

impl From<Table> for Loaded {
    /// A table that comes from no file.
    fn from(table: Table) -> Self {
        // A digest of the parsed table, not of its text.
        let mut hasher = DefaultHasher::new();
        format!("{table:?}").hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        Self {
            table,
            digest: hasher.finish(),
            sha256: String::new(),
            path: PathBuf::new(),
            stamp: Stamp::default(),
        }
    }
}

/// Opens a file and reads its state. Network file systems update this only when a file is opened.
pub(crate) fn open_with_stamp(path: &Path) -> io::Result<(File, Stamp)> {
    let file = files::open_regular(path)?;
    let stamp = Stamp::from_metadata(&file.metadata()?);
    Ok((file, stamp))
}

pub(crate) fn unreadable_error(path: &Path, source: io::Error) -> TableError {
    TableError::Read {
        path: path.to_owned(),
        source,
    }
}

impl Stamp {
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
