//! Errors of this crate.

use std::io;
use std::path::PathBuf;

use explained::Explained;
use strict_yaml::Diagnostic;
use thiserror::Error;
use vocabulary::ErrorKind;

/// An error of reading or writing a table.
#[derive(Debug, Error, Explained)]
#[non_exhaustive]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum TableError {
    /// The file cannot be opened or is not text.
    #[error("cannot read the table {}: {source}", path.display())]
    #[kind(Input)]
    Read { path: PathBuf, source: io::Error },
    /// The file was read and is not a valid table.
    #[error(transparent)]
    #[kind(Input)]
    Invalid(#[from] Box<Diagnostic>),
    /// Writing failed. A regular file still has its old contents, if any, or all new contents if only the sync of its
    /// directory failed.
    #[error("cannot write the table {}: {source}", path.display())]
    #[kind(Input)]
    Write { path: PathBuf, source: io::Error },
    /// The table in memory breaks the rules of tables; nothing was written.
    #[error("refusing to write an invalid table: {0}")]
    #[kind(Internal)]
    Unsound(Box<Diagnostic>),
    /// The text of the table would not be read back equal; nothing was written.
    #[error("refusing to write the table {}: it would not be read back equal", path.display())]
    #[kind(Internal)]
    Altered { path: PathBuf },
    /// The file has other rules than those that the table in memory was read with; nothing was written.
    #[error("{} was changed after it was read, and is left as it is now", path.display())]
    #[kind(Input)]
    Changed { path: PathBuf },
}
