//! Formats of files, and opening for writing.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::OpenError;
use crate::read_only::{ROLLBACK, path_beside};

/// The time that a connection waits for the lock of another one.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The length of SQLite's header, in bytes: <https://www.sqlite.org/fileformat.html#the_database_header>.
const HEADER: usize = 100;

/// A format of SQLite files.
#[derive(Clone, Copy, Debug)]
pub struct FileFormat {
    /// SQLite's application id, which marks files of the format.
    pub application_id: i32,
    /// The migrations: `n` leads from version `n` to `n + 1`. Version 0 is an empty file. A released migration never
    /// changes.
    pub migrations: &'static [&'static str],
}

/// What a file is, by what it begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStart {
    /// There is no file, or an empty one.
    Empty,
    /// It is a file of the format, or SQLite's journal beside it says what it is.
    Marked,
}

/// The handling of a missing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// SQLite creates the file, with the mode that the umask leaves.
    Create,
    /// It is an error of SQLite.
    Refuse,
}

/// The search for damage in a file that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Reads all pages once.
    Pages,
    /// Finds out whether tables, indices and triggers are missing.
    Objects,
}

/// The file that keeps SQLite's changes until they are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// The write-ahead log, beside which others can read. It needs shared memory, which several hosts do not have
    /// (<https://www.sqlite.org/wal.html>). A file system without it gets a rollback journal, which is as durable.
    WriteAhead,
    /// The rollback journal, for network file systems.
    Rollback,
}

/// The options of [`FileFormat::open_for_writing`].
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// The handling of a missing file.
    pub missing: Missing,
    /// The search for damage.
    pub check: Check,
    /// The journal.
    pub journal: Journal,
}

impl FileFormat {
    /// The version that this colltune writes.
    #[must_use]
    pub const fn newest_version(&self) -> u32 {
        self.migrations.len() as u32
    }

    /// Opens a file, and brings it to the newest version. Foreign keys are enforced, and commits are on disk when they
    /// return. An empty file becomes one of the format.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_for_writing(
        &self,
        path: &Path,
        opening: &Opening,
    ) -> Result<Connection, OpenError> {
        // SQLite should not open a folder, a FIFO or a device, nor write beside the file of another program.
        self.read_start(path)?;
        let create = match opening.missing {
            Missing::Create => OpenFlags::SQLITE_OPEN_CREATE,
            Missing::Refuse => OpenFlags::empty(),
        };
        let mut connection = connect_to(path, OpenFlags::SQLITE_OPEN_READ_WRITE | create)?;
        // Checked again, as SQLite may just have rolled a journal back.
        self.check_version(&connection)?;
        self.run_check(&connection, opening.check)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // For the write-ahead log this is the same as `full`; but the file may have a rollback journal in the end, and
        // has one during the migration.
        connection.pragma_update(None, "synchronous", "extra")?;
        self.migrate_to_newest(&mut connection)?;
        // After the migration, so that the mark of a new file is in the file and not only in its log.
        let mode = match opening.journal {
            Journal::WriteAhead => "wal",
            Journal::Rollback => "delete",
        };
        connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()))?;
        Ok(connection)
    }

    /// Reads how a file begins, without SQLite.
    ///
    /// # Errors
    /// [`OpenError::File`], [`OpenError::NotSqlite`], [`OpenError::OtherProgram`].
    pub fn read_start(&self, path: &Path) -> Result<FileStart, OpenError> {
        let mut bytes = Vec::new();
        match files::open_regular(path) {
            Ok(file) => file.take(HEADER as u64).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FileStart::Empty),
            Err(error) => return Err(error.into()),
        };
        if bytes.is_empty() {
            return Ok(FileStart::Empty);
        }
        // The power failed while the file was made: the first page is not there yet, and SQLite will empty the file.
        if bytes.iter().all(|byte| *byte == 0) && has_rollback_journal(path) {
            return Ok(FileStart::Marked);
        }
        if bytes.len() < HEADER || !bytes.starts_with(b"SQLite format 3\0") {
            return Err(OpenError::NotSqlite);
        }
        if bytes[68..72] == self.application_id.to_be_bytes() {
            Ok(FileStart::Marked)
        } else {
            Err(OpenError::OtherProgram)
        }
    }

    /// The version of an open file; 0 if it is empty.
    ///
    /// # Errors
    /// [`OpenError::OtherProgram`], [`OpenError::Newer`]; SQLite.
    pub fn check_version(&self, connection: &Connection) -> Result<u32, OpenError> {
        if is_empty(connection)? {
            return Ok(0);
        }
        let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        if id != self.application_id {
            return Err(OpenError::OtherProgram);
        }
        let known = self.newest_version();
        match read_version(connection)? {
            found if found > known => Err(OpenError::Newer { found, known }),
            found => Ok(found),
        }
    }

    /// Searches an open file for damage.
    ///
    /// # Errors
    /// [`OpenError::Damaged`]; those of [`Self::check_version`].
    pub fn run_check(&self, connection: &Connection, check: Check) -> Result<(), OpenError> {
        match check {
            Check::Pages => check_pages(connection),
            Check::Objects => self.check_objects(connection),
        }
    }

    /// Compares the tables, indices and triggers with those of the file's version.
    fn check_objects(&self, connection: &Connection) -> Result<(), OpenError> {
        let version = self.check_version(connection)?;
        if version == 0 && !is_empty(connection)? {
            return Err(OpenError::from_damage("it has no version"));
        }
        let found = list_objects(connection)?;
        let model = Connection::open_in_memory()?;
        for migration in self.migrations.iter().take(version as usize) {
            model.execute_batch(migration)?;
        }
        let expected = list_objects(&model)?;
        match expected.iter().find(|name| !found.contains(name)) {
            None => Ok(()),
            Some(name) => Err(OpenError::from_damage(&format!("it has no table `{name}`"))),
        }
    }

    /// Brings a checked file to the newest version, in one transaction.
    fn migrate_to_newest(&self, connection: &mut Connection) -> Result<(), OpenError> {
        let newest = self.newest_version();
        if self.check_version(connection)? == newest {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
        // Read again under the lock, since another process may have been faster. An empty file has a page by now.
        let from = read_version(&transaction)?;
        if from > newest {
            return Err(OpenError::Newer {
                found: from,
                known: newest,
            });
        }
        if from < newest {
            for migration in self.migrations.iter().skip(from as usize) {
                transaction.execute_batch(migration)?;
            }
            transaction.pragma_update(None, "application_id", self.application_id)?;
            transaction.pragma_update(None, "user_version", newest)?;
        }
        Ok(transaction.commit()?)
    }
}

/// Connects to a file with these rights. A connection belongs to one thread at a time.
///
/// # Errors
/// SQLite.
pub fn connect_to(path: &Path, rights: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, rights | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    Ok(pages == 0)
}

fn read_version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Reads all pages once: a damaged file must be neither extended nor evaluated.
fn check_pages(connection: &Connection) -> Result<(), OpenError> {
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        Ok(())
    } else {
        Err(OpenError::from_damage(&verdict))
    }
}

/// The names of all tables, indices and triggers.
fn list_objects(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut names = connection.prepare("SELECT name FROM sqlite_schema")?;
    let names = names.query_map([], |row| row.get(0))?;
    names.collect()
}

/// Whether there is a rollback journal that SQLite would use.
fn has_rollback_journal(path: &Path) -> bool {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let journal = path_beside(&target, ROLLBACK).metadata();
    journal.is_ok_and(|found| found.len() > 0)
}
