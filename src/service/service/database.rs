//! The database of a service: `service.db`.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Params, Row, Transaction, TransactionBehavior,
};
use serde::de::DeserializeOwned;
use sqlite::{Check, Journal, Missing, Opening};

use crate::disk::Disk;
use crate::schema::FORMAT;
use crate::{ServiceError, schema};

/// The most reading connections that are kept open.
const MOST_IDLE: usize = 8;
/// The length to which the write-ahead log is cut once it has been written back, in bytes.
const MOST_LOG: i64 = 64 << 20;
/// The number of statements that a connection keeps prepared.
const STATEMENTS: usize = 128;

/// The database: one connection that writes, and some that read beside it (WAL).
///
/// A change made by [`Database::write`] is on disk when the call returns. Readers and the writer never wait for each
/// other. If a transaction panics, it is rolled back and the database stays usable.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    disk: Disk,
    writer: Mutex<Connection>,
    /// At most [`MOST_IDLE`] unused reading connections. A reader that finds none opens another, and so never waits.
    idle: Mutex<Vec<Connection>>,
}

impl Database {
    /// Opens the database; creates or migrates it if necessary. A new file has the mode 0600. Writes that the disk
    /// refuses are noted.
    ///
    /// # Errors
    /// [`ServiceError::Newer`] and [`ServiceError::BadDatabase`], which leave the file as it is; files and SQLite.
    pub(crate) fn open(path: &Path, disk: Disk) -> Result<Self, ServiceError> {
        ensure_private_file(path)?;
        let opening = Opening {
            missing: Missing::Refuse,
            check: Check::Objects,
            journal: Journal::WriteAhead,
        };
        let connection = FORMAT
            .open_for_writing(path, &opening)
            .map_err(|error| schema::opening_error(path, error))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // Lets the triggers that keep tables append-only see the deletions of `REPLACE`, too.
        connection.pragma_update(None, "recursive_triggers", true)?;
        connection.pragma_update_and_check(None, "journal_size_limit", MOST_LOG, |_| Ok(()))?;
        Ok(Self {
            path: path.to_owned(),
            disk,
            writer: Mutex::new(connection),
            idle: Mutex::default(),
        })
    }

    /// Runs a transaction, which is rolled back on any error. `work` must not call [`Database::write`].
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        self.disk.note_refusal(self.run_transaction(work))
    }

    fn run_transaction<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let mut connection = lock_ignoring_poison(&self.writer);
        // If an error or a panic drops the transaction before its commit, it is rolled back.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = work(&transaction)?;
        transaction.commit()?;
        Ok(value)
    }

    /// Runs one statement in a transaction of its own. Returns the number of changed rows.
    pub(crate) fn execute(
        &self,
        statement: &str,
        values: impl Params,
    ) -> Result<usize, ServiceError> {
        self.write(|transaction| Ok(transaction.execute(statement, values)?))
    }

    /// Reads a consistent state: runs `work` in a deferred transaction on a reading connection.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let idle = lock_ignoring_poison(&self.idle).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => open_connection(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        };
        let transaction = connection.transaction()?;
        let value = work(&transaction);
        transaction.finish()?;
        let mut idle_connections = lock_ignoring_poison(&self.idle);
        if idle_connections.len() < MOST_IDLE {
            idle_connections.push(connection);
        }
        value
    }
}

/// The results of `read` for all rows of a query.
pub(crate) fn query_rows<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, ServiceError> {
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map(values, read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Locks a mutex even if it is poisoned. Only for data that is consistent whenever a thread may panic.
pub fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates an empty file with mode 0600 unless the file exists. SQLite itself would create it readable for all; its
/// log has the same mode as the file.
pub(crate) fn ensure_private_file(path: &Path) -> Result<(), ServiceError> {
    match create_private_file(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(ServiceError::on_file("create", path)(error))
        }
        _ => Ok(()),
    }
}

/// Creates a new file that only its owner can read and write.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// Connects to an existing file.
pub(crate) fn open_connection(path: &Path, access: OpenFlags) -> Result<Connection, ServiceError> {
    let connection = sqlite::connect_to(path, access)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// The time now in milliseconds since 1970, the unit of all times in rows.
pub(crate) fn now_milliseconds() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Converts a time of a row.
pub(crate) fn to_timestamp(milliseconds: i64) -> rusqlite::Result<jiff::Timestamp> {
    jiff::Timestamp::from_millisecond(milliseconds).map_err(unreadable_column)
}

/// The time in a column that may be null.
pub(crate) fn timestamp_column(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<jiff::Timestamp>> {
    let at: Option<i64> = row.get(column)?;
    at.map(to_timestamp).transpose()
}

/// The value in a column with JSON.
pub(crate) fn json_column<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(unreadable_column)
}

/// Wraps the error of parsing a column's content, such as JSON.
pub(crate) fn unreadable_column(
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Null, Box::new(error))
}

/// The row id of a machine.
///
/// # Errors
/// [`ServiceError::NotFound`]; SQLite.
pub(crate) fn machine_id(connection: &Connection, name: &str) -> Result<i64, ServiceError> {
    let mut statement = connection.prepare_cached("SELECT id FROM machine WHERE name = ?1")?;
    let id = statement.query_row([name], |row| row.get(0)).optional()?;
    id.ok_or_else(|| ServiceError::not_found("machine", name))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;

    use super::*;

    fn database() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::new(folder.path(), crate::problems::Problems::default());
        let database = Database::open(&folder.path().join("service.db"), disk).expect("opened");
        (folder, database)
    }

    fn add(transaction: &Transaction<'_>, name: &str) -> Result<(), ServiceError> {
        transaction.execute("INSERT INTO machine (name) VALUES (?1)", [name])?;
        Ok(())
    }

    fn count(database: &Database) -> i64 {
        let count = "SELECT count(*) FROM machine";
        let read =
            database.read(|connection| Ok(connection.query_row(count, [], |row| row.get(0))?));
        read.expect("read")
    }

    #[test]
    fn work_that_fails_or_panics_changes_nothing() {
        let (_folder, database) = database();
        database
            .write(|transaction| add(transaction, "a"))
            .expect("written");
        let refused = database.write(|transaction| {
            add(transaction, "b")?;
            add(transaction, "a")
        });
        assert!(
            matches!(refused, Err(ServiceError::Database(_))),
            "{refused:?}"
        );
        for _ in 0..2 {
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                database.write(|transaction| {
                    add(transaction, "c")?;
                    panic!("of the work");
                    #[expect(unreachable_code, reason = "the closure's type")]
                    Ok(())
                })
            }));
            assert!(panicked.is_err());
            let read_panicked = catch_unwind(AssertUnwindSafe(|| {
                database.read(|_| -> Result<(), ServiceError> { panic!("of the reading") })
            }));
            assert!(read_panicked.is_err());
            assert_eq!(count(&database), 1);
        }
        database
            .write(|transaction| add(transaction, "c"))
            .expect("written");
        assert_eq!(count(&database), 2);
    }

    #[test]
    fn readers_see_one_state_and_do_not_wait() {
        let (_folder, database) = database();
        // More than are kept, all at once, while the writer is at work.
        let readers = 2 * MOST_IDLE;
        let begun = Barrier::new(readers + 1);
        let written = Barrier::new(readers + 1);
        std::thread::scope(|scope| {
            for _ in 0..readers {
                scope.spawn(|| {
                    let counts = database.read(|connection| {
                        let count = || -> Result<i64, ServiceError> {
                            let count = "SELECT count(*) FROM machine";
                            Ok(connection.query_row(count, [], |row| row.get(0))?)
                        };
                        let first = count()?;
                        begun.wait();
                        written.wait();
                        Ok((first, count()?))
                    });
                    assert_eq!(counts.expect("read"), (0, 0));
                });
            }
            begun.wait();
            database
                .write(|transaction| add(transaction, "a"))
                .expect("written");
            written.wait();
        });
        assert_eq!(count(&database), 1);
        assert_eq!(lock_ignoring_poison(&database.idle).len(), MOST_IDLE);
    }

    #[test]
    fn readers_cannot_write_and_rows_reference_existing_rows() {
        let (_folder, database) = database();
        let written = database.read(|connection| {
            Ok(connection.execute("INSERT INTO machine (name) VALUES ('a')", [])?)
        });
        assert!(
            matches!(written, Err(ServiceError::Database(_))),
            "{written:?}"
        );
        let dangling = database.write(|transaction| {
            let insert = "INSERT INTO session (hash, token, expires_at) VALUES (x'00', 7, 0)";
            Ok(transaction.execute(insert, [])?)
        });
        assert!(
            matches!(dangling, Err(ServiceError::Database(_))),
            "{dangling:?}"
        );
        let replaced = database.write(|transaction| {
            let row = "INTO audit VALUES (1, 0, 'a', 'a', 'a', '{}')";
            transaction.execute(&format!("INSERT {row}"), [])?;
            Ok(transaction.execute(&format!("REPLACE {row}"), [])?)
        });
        let replaced = replaced.map_err(|error| error.to_string());
        let expected = "the database of the service: the audit is only added to";
        assert_eq!(replaced, Err(expected.to_owned()));
        let pragma = |name| {
            let writer = lock_ignoring_poison(&database.writer);
            writer.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
        };
        assert_eq!(pragma("journal_mode"), Ok("wal".to_owned().into()));
        assert_eq!(pragma("synchronous"), Ok(3.into()), "3 is EXTRA");
    }
}
