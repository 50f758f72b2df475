//! The reasons why a file is not opened.

use std::io;

use thiserror::Error;

/// The reason why a file is not opened. The file is then as it was. The messages continue a sentence that names the file;
/// crates that know what is in the file have their own, with the remedy.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum OpenError {
    /// The file cannot be read, or is no regular file.
    #[error("it cannot be read: {0}")]
    File(#[from] io::Error),
    /// The file does not begin as SQLite's do.
    #[error("it is not a SQLite database")]
    NotSqlite,
    /// The file is SQLite's, without the mark of the format.
    #[error("it is the database of another program")]
    OtherProgram,
    /// A later colltune wrote the file.
    #[error("it has version {found}, and this colltune knows versions up to {known}")]
    Newer {
        found: u32,
        /// The newest version of the format.
        known: u32,
    },
    /// A check found damage.
    #[error("it is damaged ({detail})")]
    Damaged { detail: String },
    /// An error of SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

impl OpenError {
    /// Damage, described on one line.
    pub(crate) fn from_damage(detail: &str) -> Self {
        Self::Damaged {
            detail: detail.replace('\n', " "),
        }
    }
}
