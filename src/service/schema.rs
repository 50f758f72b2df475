//! The versions of `service.db` and the migrations between them.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::ServiceError;

/// The mark of colltune's databases in SQLite's header: "clls", for colltune's service.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"clls");

/// The migrations: `n` leads from version `n` to `n + 1`. Version 0 is an empty file. Released ones never change.
const MIGRATIONS: [&str; 1] = [include_str!("schema/1.sql")];

/// The version that this crate writes.
const VERSION: u32 = MIGRATIONS.len() as u32;

/// Refuses a file that is not a database, and a database of another program or of a newer colltune. An empty file is
/// accepted.
///
/// # Errors
/// [`ServiceError::BadDatabase`], [`ServiceError::Newer`]; SQLite.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), ServiceError> {
    let bad = |problem: &str| ServiceError::BadDatabase {
        path: path.to_owned(),
        problem: problem.to_owned(),
    };
    let pages: i64 = match connection.pragma_query_value(None, "page_count", |row| row.get(0)) {
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            return Err(bad("it is not a SQLite database"));
        }
        pages => pages?,
    };
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if pages > 0 && id != APPLICATION_ID {
        return Err(bad("it is the database of another program"));
    }
    match version(connection)? {
        found if found > VERSION => Err(ServiceError::Newer {
            path: path.to_owned(),
            found,
            known: VERSION,
        }),
        _ => Ok(()),
    }
}

/// Migrates a checked file to [`VERSION`], in one transaction.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = version(&transaction)? as usize;
    if from < MIGRATIONS.len() {
        for migration in &MIGRATIONS[from..] {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
