//! Reading a file without write permission.

use std::fmt::Write;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::PATIENCE;

/// Connects to an existing file without writing to it or beside it. `file` has no links in it, as SQLite keeps its own
/// files beside what they lead to.
///
/// A file in write-ahead logging mode needs files beside it even for reading. If there are none (no `journal`, see
/// [`find_journal`]), the file is complete in itself, and SQLite is told that it does not change
/// (<https://www.sqlite.org/wal.html#read_only_databases>). If there are some, they are used as far as this user may
/// read them.
///
/// # Errors
/// SQLite.
pub fn connect_without_writing(
    file: &Path,
    journal: Option<&Path>,
) -> rusqlite::Result<Connection> {
    let mode = match journal {
        None => "immutable=1",
        Some(_) => "readonly_shm=1",
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(format!("{}?{mode}", file_uri(file)), flags)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

/// The file beside a database that shows that the database is in use or was not closed.
///
/// # Errors
/// Those of the system.
pub fn find_journal(database: &Path) -> io::Result<Option<PathBuf>> {
    for suffix in ["-wal", ROLLBACK] {
        let journal = path_beside(database, suffix);
        if journal.try_exists()? {
            return Ok(Some(journal));
        }
    }
    Ok(None)
}

/// The suffix of rollback journals.
pub(crate) const ROLLBACK: &str = "-journal";

/// The path of a file that SQLite keeps beside a database.
pub(crate) fn path_beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// An absolute path, of any bytes, in SQLite's URI syntax (<https://www.sqlite.org/uri.html>).
fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
