//! `service.db`.

use std::path::Path;

use rusqlite::{Connection, Transaction};

use crate::ServiceError;

/// The database: one connection that writes, and some that read beside it (WAL).
#[derive(Debug)]
pub(crate) struct Database {}

impl Database {
    /// Opens it, and creates or migrates it if need be.
    pub(crate) fn open(path: &Path) -> Result<Self, ServiceError> {
        todo!("{path:?}")
    }

    /// Carries out a transaction; it is rolled back on any error.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let _ = work;
        todo!()
    }

    /// Reads one consistent state (a deferred transaction on a reading connection).
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let _ = work;
        todo!()
    }
}

/// Milliseconds since 1970, as rows have them.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
