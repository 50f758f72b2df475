//! The errors of a store.

use std::io;
use std::path::{Path, PathBuf};

use explained::Explained;
use rusqlite::ErrorCode;
use thiserror::Error;
use vocabulary::{CommShape, ErrorKind, Library, RankOrder};

use crate::Holder;

/// An error of a store. No error leaves a half-done change behind.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum StoreError {
    /// A store was opened for reading, and there is no file.
    #[error("there is no store at {}; `colltune tune` or `colltune measure` creates it", path.display())]
    #[kind(Input)]
    Absent { path: PathBuf },
    /// The folder of a new store cannot be created.
    #[error(
        "cannot create the folder {} for the store: {source}; choose another place with the \
         campaign's `output.store`",
        path.display()
    )]
    #[kind(Input)]
    Folder { path: PathBuf, source: io::Error },
    /// The store, its lock or a spool file cannot be read or written.
    #[error("cannot read or write {}: {source}", path.display())]
    #[kind(Input)]
    File { path: PathBuf, source: io::Error },
    /// The file is not a store.
    #[error(
        "{} is not a colltune store ({found}); it was left as it is: name a store, or a path \
         where there is no file yet",
        path.display()
    )]
    #[kind(Input)]
    NotAStore { path: PathBuf, found: StoreMismatch },
    /// The store was written by a later colltune.
    #[error(
        "{} has store format {found}, and this colltune knows formats up to {known}; it was left \
         as it is: use the colltune that wrote it, or a newer one",
        path.display()
    )]
    #[kind(Input)]
    Newer {
        path: PathBuf,
        found: u32,
        /// The newest supported version.
        known: u32,
    },
    /// The file is damaged, or a row in it cannot be understood.
    #[error(
        "{} is damaged ({detail}); it was left as it is: restore a copy of it, save what is left \
         with `sqlite3 FILE .recover`, or move it away and measure again",
        path.display()
    )]
    #[kind(Input)]
    Corrupt { path: PathBuf, detail: String },
    /// The store cannot be written, or cannot be read without writing to it.
    #[error("cannot write to {}: {source}", path.display())]
    #[kind(Input)]
    NotWritable { path: PathBuf, source: Obstacle },
    /// The disk is full.
    #[error(
        "the disk of {} is full; everything stored before is intact: free some space and run the \
         same command again",
        path.display()
    )]
    #[kind(Environment)]
    DiskFull { path: PathBuf },
    /// Another process is writing and did not finish in time.
    #[error("{} is being written by another process; try again later", path.display())]
    #[kind(Environment)]
    Busy { path: PathBuf },
    /// Reading or writing failed below SQLite.
    #[error(
        "the file system failed below {}: {source}; check its space, quota and health, and run \
         the same command again",
        path.display()
    )]
    #[kind(Environment)]
    Device {
        path: PathBuf,
        source: rusqlite::Error,
    },
    /// Any other error of SQLite.
    #[error("SQLite on {}: {source}", path.display())]
    #[kind(Internal)]
    Sqlite {
        path: PathBuf,
        source: rusqlite::Error,
    },
    /// Another process holds the lock.
    #[error(
        "another colltune is measuring into {}{}; wait for it to end, or stop it",
        store.display(),
        holder.as_ref().map(|holder| format!(" ({holder})")).unwrap_or_default()
    )]
    #[kind(Environment)]
    Locked {
        store: PathBuf,
        /// Process that holds the lock, if it left a note.
        holder: Option<Holder>,
    },
    /// The file of the lock belongs to another account, which does not share it.
    #[error(
        "another account owns {}, without which two processes could measure into the store at once: to share the \
         store, let its group write to the store (`chmod g+w`), and the account that owns the lock measure once more; \
         otherwise choose another `output.store`",
        path.display()
    )]
    #[kind(Input)]
    LockOfAnother { path: PathBuf },
    /// The same measurements were imported before.
    #[error(
        "{} already holds {name}, and nothing was imported: measurements stored twice would count twice; \
         to import them in another way, name a new store",
        path.display()
    )]
    #[kind(Input)]
    Imported { path: PathBuf, name: String },
    /// A plan names a campaign that [`crate::Store::record_campaign`] has not seen.
    #[error("campaign {digest} is not in {}", path.display())]
    #[kind(Internal)]
    UnknownCampaign { path: PathBuf, digest: String },
    /// There is already a launch of this number.
    #[error("launch {launch} is in {} already", path.display())]
    #[kind(Internal)]
    LaunchExists { path: PathBuf, launch: u32 },
    /// The launch was never begun, or has already ended.
    #[error("launch {launch} is not under way in {}", path.display())]
    #[kind(Internal)]
    NotUnderWay { path: PathBuf, launch: u32 },
    /// A record does not fit the plan of its launch.
    #[error("launch {launch} {what}")]
    #[kind(Internal)]
    Unplanned { launch: u32, what: String },
    /// The order of ranks on a shape differs from that of earlier launches.
    #[error(
        "launch {launch} has the ranks of {shape} in {found} order on the nodes, and {} holds \
         measurements of {library} in {known} order: start ranks as before, or choose another `name` or \
         `output.store`",
        path.display()
    )]
    #[kind(Input)]
    OtherOrder {
        path: PathBuf,
        library: Library,
        launch: u32,
        shape: CommShape,
        found: RankOrder,
        known: RankOrder,
    },
    /// A complete line of a spool file is not a record.
    #[error("{}:{line}: not a record that this colltune knows: {source}", path.display())]
    #[kind(Internal)]
    Spool {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        source: serde_json::Error,
    },
}

/// The contents of a file that is not a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StoreMismatch {
    /// There is no SQLite header.
    #[error("it does not begin like an SQLite file")]
    OtherFormat,
    /// It is another program's database.
    #[error("it is the SQLite database of another program")]
    OtherDatabase,
}

/// The obstacle to writing to a store, or the reason why reading it requires writing.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum Obstacle {
    /// The permissions of the file or its folder.
    #[error("{0}; SQLite needs to write to the file and to its folder")]
    Refused(#[source] rusqlite::Error),
    /// The last writes are in a journal beside the store, which cannot be read there.
    #[error(
        "it is in use or was not closed (there is {}), so that reading needs writing; wait until \
         no process measures into it, or have its owner run `colltune report` on it once",
        journal.display()
    )]
    NotClosed {
        /// The write-ahead log or rollback journal.
        journal: PathBuf,
    },
    /// The store was written by an earlier colltune.
    #[error(
        "it has store format {found} and must be brought to format {known} before it can be \
         read; have its owner run `colltune report` on it once"
    )]
    OldFormat { found: u32, known: u32 },
}

impl StoreError {
    /// Classifies an SQLite error by its remedy.
    ///
    /// All stores get the same queries, so a missing table, column, JSON value or referenced row is damage.
    pub(crate) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let corrupt = |error: rusqlite::Error| Self::Corrupt {
            path: path.clone(),
            detail: error.to_string().replace('\n', " "),
        };
        if let rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::Utf8Error(..)
        | rusqlite::Error::SqlInputError { .. } = source
        {
            return corrupt(source);
        }
        match source.sqlite_error_code() {
            // SQLite reports malformed JSON and missing columns as this error.
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::TooBig
                | ErrorCode::Unknown,
            ) => corrupt(source),
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                let source = Obstacle::Refused(source);
                Self::NotWritable { path, source }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::SystemIoFailure) => Self::Device { path, source },
            _ => Self::Sqlite { path, source },
        }
    }

    /// An operating-system error about a file.
    pub(crate) fn for_file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
