//! The service as a whole.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::database::Database;
use crate::{Configuration, Feed, ServiceError};

/// An open service. All methods may be called from any thread, and block; the HTTP interface calls them on threads
/// that may.
#[derive(Debug)]
pub struct Service {
    pub(crate) configuration: Configuration,
    /// The executable `colltune`, which tasks are started from.
    pub(crate) executable: PathBuf,
    pub(crate) database: Database,
    pub(crate) feed: Feed,
}

impl Service {
    /// Takes the state folder, which no other service may use; migrates the database; brings the published channels in
    /// line with the database, which is authoritative.
    ///
    /// # Errors
    /// [`ServiceError::Locked`], [`ServiceError::NetworkFileSystem`], [`ServiceError::Newer`]; files and SQLite.
    pub fn open(
        configuration: Configuration,
        executable: PathBuf,
    ) -> Result<Arc<Self>, ServiceError> {
        todo!("{configuration:?} {executable:?}")
    }

    /// Runs tasks until `stop` is set: then children that measure here are interrupted and their tasks wait for the
    /// next start; jobs of batch systems go on. Tasks that ran when an earlier service ended wait again.
    ///
    /// # Errors
    /// What keeps the queue from being read or written. A task that fails is no error.
    pub fn run(&self, stop: &AtomicBool) -> Result<(), ServiceError> {
        todo!("{stop:?}")
    }

    /// What the service was told.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// What happens, as it happens.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }
}
