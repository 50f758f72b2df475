//! `service.db`.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior};

use crate::{ServiceError, schema};

/// How long a connection waits for another one, as a backup's.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most reading connections that are kept open.
const MOST_IDLE: usize = 8;
/// The length to which the write-ahead log is cut once it has been written back, in bytes.
const MOST_LOG: i64 = 64 << 20;
/// Statements that a connection keeps prepared.
const STATEMENTS: usize = 128;

/// The database: one connection that writes, and some that read beside it (WAL).
///
/// What [`Database::write`] has done is on disk when it returns. A reader never waits for the writer, nor the writer
/// for readers. Work that panics leaves no trace, and the database goes on.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    writer: Mutex<Connection>,
    /// At most [`MOST_IDLE`]. Where all are in use another one is opened for the time, so that nothing waits for the
    /// end of a reading.
    idle: Mutex<Vec<Connection>>,
}

impl Database {
    /// Opens it, and creates or migrates it if need be. A new file has the mode 0600.
    ///
    /// # Errors
    /// [`ServiceError::Newer`] and [`ServiceError::BadDatabase`], which leave the file as it is; files and SQLite.
    pub(crate) fn open(path: &Path) -> Result<Self, ServiceError> {
        create_file(path)?;
        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        schema::check(&connection, path)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "synchronous", "full")?;
        schema::migrate(&mut connection)?;
        connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        connection.pragma_update_and_check(None, "journal_size_limit", MOST_LOG, |_| Ok(()))?;
        Ok(Self {
            path: path.to_owned(),
            writer: Mutex::new(connection),
            idle: Mutex::default(),
        })
    }

    /// Carries out a transaction; it is rolled back on any error. `work` must not call [`Database::write`].
    ///
    /// # Errors
    /// Those of `work`; SQLite.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let mut connection = locked(&self.writer);
        // Dropped without a commit, by an error or a panic, it is rolled back.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = work(&transaction)?;
        transaction.commit()?;
        Ok(value)
    }

    /// Reads one consistent state (a deferred transaction on a reading connection).
    ///
    /// # Errors
    /// Those of `work`; SQLite.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let idle = locked(&self.idle).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        };
        let transaction = connection.transaction()?;
        let value = work(&transaction);
        transaction.finish()?;
        let mut idle = locked(&self.idle);
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
        value
    }
}

/// Takes a mutex also where a panic has poisoned it: what it guards is whole between transactions.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// SQLite would let everybody read a file that it creates; its log takes the mode from the file.
pub(crate) fn create_file(path: &Path) -> Result<(), ServiceError> {
    let mut options = OpenOptions::new();
    let created = options.write(true).create_new(true).mode(0o600).open(path);
    match created {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(ServiceError::file("create", path)(error))
        }
        _ => Ok(()),
    }
}

/// A connection to a file that exists.
pub(crate) fn connect(path: &Path, access: OpenFlags) -> Result<Connection, ServiceError> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Milliseconds since 1970, as rows have them.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// A time of a row.
///
/// # Errors
/// A number that is no time.
pub(crate) fn timestamp(milliseconds: i64) -> rusqlite::Result<jiff::Timestamp> {
    jiff::Timestamp::from_millisecond(milliseconds).map_err(unreadable)
}

/// As the error of a column whose content cannot be understood, such as JSON.
pub(crate) fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Null, Box::new(error))
}

/// The row of a machine.
///
/// # Errors
/// [`ServiceError::NotFound`]; SQLite.
pub(crate) fn machine_id(connection: &Connection, name: &str) -> Result<i64, ServiceError> {
    let mut statement = connection.prepare_cached("SELECT id FROM machine WHERE name = ?1")?;
    let id = statement.query_row([name], |row| row.get(0)).optional()?;
    id.ok_or_else(|| ServiceError::NotFound {
        kind: "machine",
        name: name.to_owned(),
    })
}
