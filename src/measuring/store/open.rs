//! Opening and creating stores.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use rusqlite::{Connection, Params, Row, Transaction, TransactionBehavior};
use sqlite::{Check, FileStart, Journal, Missing, OpenError, Opening};

#[cfg(doc)]
use crate::Obstacle;
use crate::error::{StoreError, StoreMismatch};
use crate::folder::create_folder_of;
use crate::read_only;
use crate::schema::FORMAT;

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
        Self::open_for_writing(path, Missing::Create)
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
        let start = FORMAT.read_start(path);
        if start.map_err(|error| opening_error(path, error))? == FileStart::Empty {
            return Err(StoreError::Absent {
                path: path.to_owned(),
            });
        }
        // Checked beforehand: SQLite would open a file without write permission, and leave files of this user beside
        // it, which would prevent the owner from writing.
        if access(path, AccessFlags::W_OK).is_ok() {
            match Self::open_for_writing(path, Missing::Refuse) {
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

    fn open_for_writing(path: &Path, missing: Missing) -> Result<Self, StoreError> {
        let opening = Opening {
            missing,
            // A damaged store must be neither extended nor fitted.
            check: Check::Pages,
            journal: journal_for(path),
        };
        match FORMAT.open_for_writing(path, &opening) {
            Ok(connection) => Ok(Self::new(connection, path)),
            Err(error) => Err(opening_error(path, error)),
        }
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

/// The journal for a path.
fn journal_for(path: &Path) -> Journal {
    match files::network_file_system(path) {
        Some(_) => Journal::Rollback,
        None => Journal::WriteAhead,
    }
}

/// Names the store in an error of opening it.
pub(crate) fn opening_error(path: &Path, error: OpenError) -> StoreError {
    let not_a_store = |found| StoreError::NotAStore {
        path: path.to_owned(),
        found,
    };
    match error {
        OpenError::File(source) => StoreError::for_file(path, source),
        OpenError::NotSqlite => not_a_store(StoreMismatch::OtherFormat),
        OpenError::OtherProgram => not_a_store(StoreMismatch::OtherDatabase),
        OpenError::Newer { found, known } => StoreError::Newer {
            path: path.to_owned(),
            found,
            known,
        },
        OpenError::Damaged { detail } => StoreError::Corrupt {
            path: path.to_owned(),
            detail,
        },
        OpenError::Sqlite(source) => StoreError::from_sqlite(path, source),
    }
}

#[cfg(test)]
mod tests {
    use vocabulary::Library;
    use wire::Environment;

    use super::*;
    use crate::{Import, ImportedLaunch};

    fn check_intact(store: &Store) {
        FORMAT
            .run_check(&store.connection, Check::Pages)
            .expect("intact");
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
        assert_eq!(pragma("synchronous"), 3.into(), "3 is EXTRA");
        assert_eq!(pragma("foreign_keys"), 1.into());
    }
}
