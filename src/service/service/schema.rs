//! The versions of `service.db` and the migrations between them.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::ServiceError;

/// The mark of colltune's databases in SQLite's header: "clls", for colltune's service.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"clls");

/// The migrations: `n` leads from version `n` to `n + 1`. Version 0 is an empty file. Released ones never change.
const MIGRATIONS: [&str; 2] = [include_str!("schema/1.sql"), include_str!("schema/2.sql")];

/// The version that this crate writes.
const VERSION: u32 = MIGRATIONS.len() as u32;

/// Refuses a file that is not a database, and a database of another program or of a newer colltune. An empty file is
/// accepted.
///
/// # Errors
/// [`ServiceError::BadDatabase`], [`ServiceError::Newer`]; SQLite.
pub(crate) fn check_unless_empty(connection: &Connection, path: &Path) -> Result<(), ServiceError> {
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    match pages {
        0 => Ok(()),
        _ => check_whole(connection, path),
    }
}

/// As [`check_unless_empty`], and refuses an empty file and a database without the tables of its version.
///
/// # Errors
/// [`ServiceError::BadDatabase`], [`ServiceError::Newer`]; SQLite.
pub(crate) fn check_whole(connection: &Connection, path: &Path) -> Result<(), ServiceError> {
    let bad = |problem: &str| ServiceError::BadDatabase {
        path: path.to_owned(),
        problem: problem.to_owned(),
    };
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if pages == 0 {
        return Err(bad("it is empty"));
    }
    if id != APPLICATION_ID {
        return Err(bad("it is the database of another program"));
    }
    let found = read_version(connection)?;
    if found > VERSION {
        return Err(ServiceError::Newer {
            path: path.to_owned(),
            found,
            known: VERSION,
        });
    }
    let tables = list_objects(connection)?;
    let expected = Connection::open_in_memory()?;
    for migration in &MIGRATIONS[..found as usize] {
        expected.execute_batch(migration)?;
    }
    let expected = list_objects(&expected)?;
    match expected.iter().find(|name| !tables.contains(name)) {
        None if found > 0 => Ok(()),
        None => Err(bad("it is damaged (it has no version)")),
        Some(name) => Err(bad(&format!("it is damaged (it has no table `{name}`)"))),
    }
}

/// The names of all tables, indices and triggers.
fn list_objects(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut names = connection.prepare("SELECT name FROM sqlite_schema")?;
    let names = names.query_map([], |row| row.get(0))?;
    names.collect()
}

/// Names the file in SQLite's error that it is no database, or a damaged one.
pub(crate) fn name_file(error: ServiceError, path: &Path) -> ServiceError {
    let ServiceError::Database(of_sqlite) = &error else {
        return error;
    };
    let problem = match of_sqlite.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "it is not a SQLite database".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => format!("it is damaged ({of_sqlite})"),
        _ => return error,
    };
    ServiceError::BadDatabase {
        path: path.to_owned(),
        problem,
    }
}

/// Migrates a checked file to [`VERSION`], in one transaction.
pub(crate) fn migrate_to_newest(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = read_version(&transaction)? as usize;
    if from < MIGRATIONS.len() {
        for migration in &MIGRATIONS[from..] {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

fn read_version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
