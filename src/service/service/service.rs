//! The service as a whole.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::Clock;
use crate::database::Database;
use crate::disk::Disk;
use crate::levels::LevelCache;
use crate::modes::{self, STATE_MODE};
use crate::problems::Problems;
use crate::runner::Runner;
use crate::secret::TokenCache;
use crate::served::ServedTime;
use crate::{Configuration, Feed, ServiceError};

/// An open service. All methods may be called from any thread. They block, so the HTTP interface calls them on
/// threads that may block.
#[derive(Debug)]
pub struct Service {
    pub(crate) configuration: Configuration,
    /// The executable `colltune`, which runs tasks.
    pub(crate) executable: PathBuf,
    pub(crate) database: Database,
    pub(crate) feed: Feed,
    /// The released tables, in memory.
    pub(crate) released: crate::releases::ReleasedTables,
    pub(crate) runner: Runner,
    pub(crate) problems: Problems,
    pub(crate) disk: Disk,
    pub(crate) served: ServedTime,
    /// The time by which schedules act.
    pub(crate) clock: Clock,
    /// The valid tokens and sessions.
    pub(crate) token_cache: TokenCache,
    /// The levels of trends, in memory.
    pub(crate) levels: LevelCache,
    /// Locked while the service is open.
    _lock: File,
}

impl Service {
    /// Opens the service:
    /// - locks the state folder, which no other service may use and no other account may own; creates it if it is
    ///   missing;
    /// - sets its modes, whatever the umask and an earlier version: all users can read the channels in it but nothing
    ///   else;
    /// - migrates the database, and puts tasks that ran when an earlier service stopped back into the queue;
    /// - brings the published channels in line with the database, which is authoritative.
    ///
    /// The project folder becomes the process's working directory, which paths in campaigns are relative to.
    ///
    /// # Errors
    /// [`ServiceError::Locked`], [`ServiceError::NetworkFileSystem`], [`ServiceError::Untrusted`],
    /// [`ServiceError::Newer`], [`ServiceError::BadDatabase`], [`ServiceError::Emptied`]; files and SQLite.
    pub fn open(
        configuration: Configuration,
        executable: PathBuf,
    ) -> Result<Arc<Self>, ServiceError> {
        let lock = lock_state_folder(&configuration.state)?;
        let folder = &configuration.folder;
        modes::open_way(folder, &configuration.state)?;
        std::env::set_current_dir(folder).map_err(ServiceError::on_file("change into", folder))?;
        require_database(&configuration.state)?;
        let problems = Problems::default();
        let disk = Disk::new(&configuration.state, problems.clone());
        let database = Database::open(&configuration.state.join(DATABASE), disk.clone())?;
        let served = database.read(ServedTime::from_database)?;
        let service = Self {
            configuration,
            executable,
            database,
            feed: Feed::new(),
            released: crate::releases::ReleasedTables::default(),
            runner: Runner::default(),
            problems,
            disk,
            served,
            clock: Clock::default(),
            token_cache: TokenCache::default(),
            levels: LevelCache::default(),
            _lock: lock,
        };
        service.add_machines()?;
        // Each start does this, in this order.
        service.requeue_interrupted()?;
        service.restore_channels()?;
        service.remove_old_usage()?;
        Ok(Arc::new(service))
    }

    /// The configuration.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The feed of events.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Adds a row for each machine of the configuration. Machines removed from the configuration keep theirs.
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

/// What was served so far counts also if the service ends without [`Service::run_tasks`].
impl Drop for Service {
    fn drop(&mut self) {
        // If this fails, tables are kept longer.
        let _ = self.store_served();
    }
}

/// The database in a state folder.
pub(crate) const DATABASE: &str = "service.db";
/// The lock file of the service that uses the folder.
const LOCK: &str = "lock";

/// Names in a state folder that only exist if there was a database before them.
const LATER: [&str; 5] = ["blobs", "channels", "tasks", "token", "service.db-wal"];

/// Refuses a folder that a service has used and whose database is missing or empty. A new database would know no
/// release, so the tables of running jobs would be taken down.
fn require_database(state: &Path) -> Result<(), ServiceError> {
    let path = state.join(DATABASE);
    let problem = match fs::metadata(&path) {
        // SQLite takes a file of one byte for an empty one.
        Ok(found) if found.len() > 1 => return Ok(()),
        Ok(_) => "is empty",
        Err(error) if error.kind() == ErrorKind::NotFound => "is missing",
        Err(error) => return Err(ServiceError::on_file("read", &path)(error)),
    };
    let mut found = LATER.to_vec();
    found.retain(|name| is_used(&state.join(name)));
    if found.is_empty() {
        Ok(())
    } else {
        Err(ServiceError::Emptied {
            path,
            problem,
            found,
        })
    }
}

/// Whether there is a file, or a folder that is not empty: an empty one may be a place for a mount.
fn is_used(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => fs::symlink_metadata(path).is_ok(),
    }
}

/// Creates the state folder if necessary, locks it and sets its modes. The operating system releases the lock when the
/// file is closed or the process ends. Children do not inherit it.
fn lock_state_folder(state: &Path) -> Result<File, ServiceError> {
    if let Some(kind) = files::network_file_system(state) {
        return Err(ServiceError::NetworkFileSystem {
            folder: state.to_owned(),
            kind: kind.to_owned(),
        });
    }
    files::check_folder(state)?;
    files::create_folder(state, STATE_MODE).map_err(ServiceError::on_file("create", state))?;
    // Another account may have created it first.
    files::check_folder(state)?;
    let path = state.join(LOCK);
    let lock = files::open_lock(&path, 0o600).map_err(ServiceError::on_file("open", &path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(ServiceError::Locked {
                folder: state.to_owned(),
            });
        }
        Err(TryLockError::Error(error)) => return Err(ServiceError::on_file("lock", &path)(error)),
    }
    modes::set_modes(state)?;
    Ok(lock)
}
