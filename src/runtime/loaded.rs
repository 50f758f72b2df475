//! A table as it was read from a file.

use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use table::{Table, TableError};

/// A table, and a digest of it by which ranks recognise that they have the same.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The table.
    pub table: Table,
    /// The same for the same table, among programs of one build.
    pub digest: u64,
    /// Its file.
    pub(crate) path: PathBuf,
    /// The file as it was then.
    pub(crate) stamp: Stamp,
}

/// What a file shows of being changed or replaced.
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
        let (file, stamp) = open(path).map_err(|source| unreadable(path, source))?;
        Self::read_open(path, &file, stamp)
    }

    /// Reads a table from a file that has been opened.
    pub(crate) fn read_open(path: &Path, file: &File, stamp: Stamp) -> Result<Self, TableError> {
        let text = files::text_of(file).map_err(|source| unreadable(path, source))?;
        let table = Table::parse(&text, path)?;
        Ok(Self {
            // The program may go elsewhere.
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            stamp,
            ..Self::from(table)
        })
    }
}

impl From<Table> for Loaded {
    /// A table that is in no file.
    fn from(table: Table) -> Self {
        // The table and not the text: what counts is what was understood.
        let mut hasher = DefaultHasher::new();
        format!("{table:?}").hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        Self {
            table,
            digest: hasher.finish(),
            path: PathBuf::new(),
            stamp: Stamp::default(),
        }
    }
}

/// Opens a file, and says what it shows. Opening is what makes network file systems look again.
pub(crate) fn open(path: &Path) -> io::Result<(File, Stamp)> {
    let file = files::open(path)?;
    let stamp = Stamp::of(&file.metadata()?);
    Ok((file, stamp))
}

pub(crate) fn unreadable(path: &Path, source: io::Error) -> TableError {
    TableError::Read {
        path: path.to_owned(),
        source,
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
