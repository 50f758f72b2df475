//! The service as a whole.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::database::Database;
use crate::problems::Problems;
use crate::runner::Runner;
use crate::secret::TokenCache;
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
    /// What is released, in memory.
    pub(crate) released: crate::releases::Released,
    pub(crate) runner: Runner,
    pub(crate) problems: Problems,
    /// The tokens and sessions that hold.
    pub(crate) token_cache: TokenCache,
    /// Locked for its lifetime.
    _lock: File,
}

impl Service {
    /// Takes the state folder, which no other service may use, and makes it if it is missing, with the mode 0711:
    /// everybody may read the channels in it, and nothing else of it;
    /// migrates the database; lets the tasks wait again that ran when an earlier service ended; brings the published
    /// channels in line with the database, which is authoritative. The project folder becomes the process's working
    /// directory: paths in campaigns count from there.
    ///
    /// # Errors
    /// [`ServiceError::Locked`], [`ServiceError::NetworkFileSystem`], [`ServiceError::Newer`],
    /// [`ServiceError::BadDatabase`]; files and SQLite.
    pub fn open(
        configuration: Configuration,
        executable: PathBuf,
    ) -> Result<Arc<Self>, ServiceError> {
        let lock = take(&configuration.state)?;
        let folder = &configuration.folder;
        std::env::set_current_dir(folder).map_err(ServiceError::file("change into", folder))?;
        let database = Database::open(&configuration.state.join(DATABASE))?;
        let service = Self {
            configuration,
            executable,
            database,
            feed: Feed::new(),
            released: crate::releases::Released::default(),
            runner: Runner::default(),
            problems: Problems::default(),
            token_cache: TokenCache::default(),
            _lock: lock,
        };
        service.add_machines()?;
        // What the parts of the service do at each start, in this order.
        service.requeue_interrupted()?;
        service.restore_channels()?;
        Ok(Arc::new(service))
    }

    /// What the service was told.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// What happens, as it happens.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Gives each machine of the configuration a row. Those that have left it keep theirs.
    fn add_machines(&self) -> Result<(), ServiceError> {
        self.database.write(|transaction| {
            let mut add =
                transaction.prepare("INSERT OR IGNORE INTO machine (name) VALUES (?1)")?;
            for machine in &self.configuration.machines {
                add.execute([&machine.name])?;
            }
            Ok(())
        })
    }
}

/// The database in a state folder.
pub(crate) const DATABASE: &str = "service.db";
/// Held by the one service that uses the folder.
const LOCK: &str = "lock";

/// Makes the state folder if need be, and takes its lock, which the operating system releases when the file is closed
/// or the process ends in whatever way. Children do not inherit it.
fn take(state: &Path) -> Result<File, ServiceError> {
    if let Some(kind) = store::network_file_system(state) {
        return Err(ServiceError::NetworkFileSystem {
            folder: state.to_owned(),
            kind: kind.to_owned(),
        });
    }
    let mut folder = DirBuilder::new();
    let made = folder.recursive(true).mode(0o711).create(state);
    made.map_err(ServiceError::file("create", state))?;
    let path = state.join(LOCK);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let lock = options
        .open(&path)
        .map_err(ServiceError::file("open", &path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(ServiceError::Locked {
            folder: state.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(ServiceError::file("lock", &path)(error)),
    }
}
