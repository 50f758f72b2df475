//! The versions of the file format and the migrations between them.

use rusqlite::{Connection, TransactionBehavior};

/// The application id in SQLite's header, which marks the file as a store: "clln", for colltune.
pub(crate) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"clln");

/// Migration `n` leads from version `n` to `n + 1`; version 0 is an empty file. A released migration never changes.
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
pub(crate) fn read_version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Upgrades a file to [`VERSION`], atomically. A newer file is unchanged.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    if read_version(connection)? >= VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    // Read again under the lock, since another process may have been faster.
    let from = usize::try_from(read_version(&transaction)?).unwrap_or(usize::MAX);
    for migration in MIGRATIONS.iter().skip(from) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(
        None,
        "user_version",
        VERSION.max(read_version(&transaction)?),
    )?;
    transaction.commit()
}
