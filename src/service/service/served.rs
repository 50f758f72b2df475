//! The time that the service has run, by which the ages of released tables are counted.
//!
//! The system's clock may be set, by a year, in either direction. Tables that running jobs use must not look old then.
//! So only time counts that a service with this state has seen pass on the monotonic clock. While no service runs, no
//! time passes: tables are kept longer than necessary, and never shorter.

use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, params};

use crate::{Service, ServiceError};

/// The time that services with this state have run, in milliseconds.
#[derive(Debug)]
pub(crate) struct ServedTime {
    /// The time before this service was opened.
    before: i64,
    opened: Instant,
}

impl ServedTime {
    pub(crate) fn from_database(connection: &Connection) -> Result<Self, ServiceError> {
        let query = "SELECT milliseconds FROM served";
        Ok(Self {
            before: connection.query_row(query, [], |row| row.get(0))?,
            opened: Instant::now(),
        })
    }

    pub(crate) fn now(&self) -> i64 {
        self.before
            .saturating_add(to_milliseconds(self.opened.elapsed()))
    }

    /// The time `longest` ago.
    pub(crate) fn now_minus(&self, longest: Duration) -> i64 {
        self.now().saturating_sub(to_milliseconds(longest))
    }
}

fn to_milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Stores the time, from which the next service continues.
pub(crate) fn store_served_time(
    transaction: &Transaction<'_>,
    now: i64,
) -> Result<(), ServiceError> {
    let update = "UPDATE served SET milliseconds = max(milliseconds, ?1)";
    transaction.execute(update, params![now])?;
    Ok(())
}

impl Service {
    /// Stores the time that services have run.
    ///
    /// # Errors
    /// SQLite.
    pub(crate) fn store_served(&self) -> Result<(), ServiceError> {
        let now = self.served.now();
        self.database
            .write(|transaction| store_served_time(transaction, now))
    }
}
