//! The versions of the file format and the way from each to the next.

use rusqlite::{Connection, TransactionBehavior};

/// Marks the file as ours in SQLite's header: "clln", for colltune.
pub(crate) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"clln");

/// Migration `n` leads from version `n` to `n + 1`; version 0 is an empty file. A migration that
/// has been released never changes.
const MIGRATIONS: [&str; 6] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
];

/// The version that this crate writes.
pub(crate) const VERSION: u32 = MIGRATIONS.len() as u32;

/// The version of an open file.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings a file to [`VERSION`], all or nothing. A newer one is left alone.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? >= VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    // Asked again under the lock: another process may have been faster.
    let from = usize::try_from(version(&transaction)?).unwrap_or(usize::MAX);
    for migration in MIGRATIONS.iter().skip(from) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION.max(version(&transaction)?))?;
    transaction.commit()
}
