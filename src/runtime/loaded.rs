//! A table as it was read from a file.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use table::{Table, TableError};

/// A table, and a digest of its text by which ranks recognise that they have read the same.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The table.
    pub table: Table,
    /// The same for the same text, among programs of one build.
    pub digest: u64,
}

impl Loaded {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// As [`Table::load`].
    pub fn read(path: &Path) -> Result<Self, TableError> {
        let table = Table::load(path)?;
        // The table and not the text: what counts is what was understood.
        let mut hasher = DefaultHasher::new();
        format!("{table:?}").hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        Ok(Self {
            table,
            digest: hasher.finish(),
        })
    }
}
