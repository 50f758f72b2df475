//! Opening and creating stores.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::{AccessFlags, access};
use rusqlite::{Connection, OpenFlags, Params, Row, Transaction, TransactionBehavior};

#[cfg(doc)]
use crate::Obstacle;
use crate::error::{StoreError, StoreMismatch};
use crate::file_system::{create_folder_of, network_file_system};
use crate::read_only;
use crate::schema::{self, APPLICATION_ID};

/// The time that a writer waits for another.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// An open store.
///
/// Any number of processes may read while one writes. Writing goes through the write-ahead log, on
/// network file systems through a journal, and is on disk when a method returns.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store at `path`, or creates it together with the folders above it.
    ///
    /// A store of an older format is upgraded.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`], [`StoreError::Newer`] and [`StoreError::Corrupt`] leave the file unchanged;
    /// [`StoreError::Folder`], [`StoreError::NotWritable`] and others name the path.
    pub fn open_or_create(path: &Path) -> Result<Self, StoreError> {
        create_folder_of(path)?;
        check_header(path)?;
        Self::connect_for_writing(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens the store at `path`.
    ///
    /// A store that this user may read but not write is opened for reading: methods that write then fail with
    /// [`StoreError::NotWritable`]. Nothing is created beside it. No process should begin to write to it while it is
    /// open in this way, unless a writing process already has it open.
    ///
    /// # Errors
    /// [`StoreError::Absent`] if there is no file; [`StoreError::NotWritable`] if it can be read only after writing
    /// (see [`Obstacle`]); otherwise those of [`Store::open_or_create`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if check_header(path)? == Header::Nothing {
            return Err(StoreError::Absent {
                path: path.to_owned(),
            });
        }
        // Checked beforehand: SQLite would open a file without write permission, and leave files of this user beside
        // it, which would prevent the owner from writing.
        if access(path, AccessFlags::W_OK).is_ok() {
            match Self::connect_for_writing(path, OpenFlags::empty()) {
                // The obstacle is the folder or the file system.
                Err(StoreError::NotWritable { .. }) => {}
                result => return result,
            }
        }
        read_only::open_without_writing(path)
    }

    /// The path of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect_for_writing(path: &Path, create: OpenFlags) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let at = |source| StoreError::from_sqlite(path, source);
        let mut connection = Connection::open_with_flags(path, flags).map_err(at)?;
        connection.busy_timeout(PATIENCE).map_err(at)?;
        check_version(&connection, path)?;
        check_integrity(&connection, path)?;
        prepare_connection(&mut connection, journal_mode(path)).map_err(at)?;
        Ok(Self::new(connection, path))
    }

    /// A store on a prepared connection.
    pub(crate) fn new(connection: Connection, path: &Path) -> Self {
        Self {
            connection,
            path: path.to_owned(),
        }
    }

    /// Runs `work` in a transaction, which is on disk when this returns, or rolled back.
    pub(crate) fn write_in_transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let result = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                let value = work(&transaction)?;
                transaction.commit()?;
                Ok(value)
            });
        result.map_err(|source| StoreError::from_sqlite(&self.path, source))
    }

    /// The results of `read` for all rows of a query.
    pub(crate) fn query_rows<T, All: FromIterator<T>>(
        &self,
        query: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<All, StoreError> {
        self.run_query(|connection| {
            let mut statement = connection.prepare(query)?;
            statement.query_map(parameters, read)?.collect()
        })
    }

    /// Runs a reading query.
    pub(crate) fn run_query<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        work(&self.connection).map_err(|source| StoreError::from_sqlite(&self.path, source))
    }
}

/// The contents of a path before SQLite opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    /// No file, or an empty one.
    Nothing,
    /// A colltune store.
    Ours,
}

/// Reads the first bytes, so that other files are refused without being opened for writing.
///
/// Layout: <https://www.sqlite.org/fileformat.html#the_database_header>.
fn check_header(path: &Path) -> Result<Header, StoreError> {
    let mut bytes = Vec::new();
    // SQLite should not open a folder, a FIFO or a device either.
    match files::open_regular(path) {
        Ok(file) => file
            .take(100)
            .read_to_end(&mut bytes)
            .map_err(|source| StoreError::for_file(path, source))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Header::Nothing),
        Err(source) => return Err(StoreError::for_file(path, source)),
    };
    let not_a_store = |found| {
        Err(StoreError::NotAStore {
            path: path.to_owned(),
            found,
        })
    };
    if bytes.is_empty() {
        return Ok(Header::Nothing);
    }
    if bytes.len() < 100 || !bytes.starts_with(b"SQLite format 3\0") {
        return not_a_store(StoreMismatch::OtherFormat);
    }
    if bytes[68..72] != APPLICATION_ID.to_be_bytes() {
        return not_a_store(StoreMismatch::OtherDatabase);
    }
    Ok(Header::Ours)
}

/// The version of the file format; a future version is an error.
pub(crate) fn check_version(connection: &Connection, path: &Path) -> Result<u32, StoreError> {
    let found =
        schema::read_version(connection).map_err(|source| StoreError::from_sqlite(path, source))?;
    if found <= schema::VERSION {
        return Ok(found);
    }
    Err(StoreError::Newer {
        path: path.to_owned(),
        found,
        known: schema::VERSION,
    })
}

/// Reads the whole file once: a damaged store must be neither extended nor fitted.
pub(crate) fn check_integrity(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let verdict: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|source| StoreError::from_sqlite(path, source))?;
    if verdict == "ok" {
        return Ok(());
    }
    let detail = verdict.replace('\n', " ");
    Err(StoreError::Corrupt {
        path: path.to_owned(),
        detail,
    })
}

/// The journal mode for a path. The write-ahead log needs shared memory, which several hosts do not have
/// (<https://www.sqlite.org/wal.html>).
fn journal_mode(path: &Path) -> &'static str {
    match network_file_system(path) {
        Some(_) => "delete",
        None => "wal",
    }
}

/// Settings of the connection; creates or updates the schema.
fn prepare_connection(connection: &mut Connection, journal_mode: &str) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "full")?;
    // This comes before the log is switched on, so that a new file begins with our header; see `check_header`.
    schema::migrate(connection)?;
    // A file system without shared memory selects another mode, which is as durable.
    connection.pragma_update_and_check(None, "journal_mode", journal_mode, |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use vocabulary::Library;
    use wire::Environment;

    use super::*;
    use crate::{Import, ImportedLaunch};

    fn check_intact(store: &Store) {
        check_integrity(&store.connection, store.path()).expect("intact");
    }

    #[test]
    fn a_full_disk_loses_nothing_and_storing_continues_once_there_is_space() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("full.db");
        let mut store = Store::open_or_create(&path).expect("created");
        store
            .record_campaign("a", "first", "name: first")
            .expect("stored");
        let pages: u32 = store
            .connection
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .expect("page count");
        let limit = |limited: &Store, most_pages: u32| {
            limited
                .connection
                .pragma_update_and_check(None, "max_page_count", most_pages, |_| Ok(()))
                .expect("limited");
        };
        limit(&store, pages + 2);
        let long = "#".repeat(1 << 20);
        let launch = ImportedLaunch {
            environment: Environment {
                library_text: long.clone(),
                ..Environment::default()
            },
            subjects: Vec::new(),
        };
        let import = Import {
            digest: "c".to_owned(),
            name: "times.csv".to_owned(),
            text: "{}".to_owned(),
            library: Library {
                name: "openmpi".to_owned(),
                version: "4.1.4".to_owned(),
            },
            launches: vec![launch],
        };
        for error in [
            store.record_campaign("b", "second", &long).err(),
            store.add_imports(&[import]).err(),
        ] {
            assert!(
                matches!(&error, Some(StoreError::DiskFull { path: named }) if *named == path),
                "{error:?}"
            );
        }
        check_intact(&store);
        assert_eq!(store.campaigns().expect("readable").len(), 1);

        limit(&store, 1 << 20);
        store.record_campaign("b", "second", &long).expect("stored");
        check_intact(&store);
        assert_eq!(store.campaigns().expect("readable").len(), 2);
    }

    #[test]
    fn files_are_written_ahead_and_synchronised() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let store = Store::open_or_create(&folder.path().join("a.db")).expect("created");
        let pragma = |name| {
            store
                .connection
                .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
                .expect("pragma")
        };
        assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
        assert_eq!(pragma("synchronous"), 2.into(), "2 is FULL");
        assert_eq!(pragma("foreign_keys"), 1.into());
    }
}
