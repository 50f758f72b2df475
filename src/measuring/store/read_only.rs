//! Reading a store without write permission.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::error::{Obstacle, StoreError};
use crate::open::{PATIENCE, check_integrity, check_version};
use crate::{Store, schema};

/// Opens an existing store without writing to it or beside it.
///
/// A store in write-ahead logging mode needs files beside it even for reading. If there are none, the store is complete
/// in itself, and SQLite is told that it does not change (<https://www.sqlite.org/wal.html#read_only_databases>). If
/// there are some, they are used as far as this user may read them.
pub(crate) fn open_without_writing(path: &Path) -> Result<Store, StoreError> {
    let file = |source| StoreError::for_file(path, source);
    // SQLite follows links, so the files beside the store are beside the link's target.
    let target = path.canonicalize().map_err(file)?;
    let journal = find_journal(&target).map_err(file)?;
    let mode = match &journal {
        None => "immutable=1",
        Some(_) => "readonly_shm=1",
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("{}?{mode}", sqlite_uri(&target));
    connect_to_uri(path, &uri, flags).map_err(|mut error| {
        if let StoreError::NotWritable { source, .. } = &mut error
            && let (Obstacle::Refused(_), Some(journal)) = (&*source, journal)
        {
            *source = Obstacle::NotClosed { journal };
        }
        error
    })
}

fn connect_to_uri(path: &Path, uri: &str, flags: OpenFlags) -> Result<Store, StoreError> {
    let at = |source| StoreError::from_sqlite(path, source);
    let connection = Connection::open_with_flags(uri, flags).map_err(at)?;
    connection.busy_timeout(PATIENCE).map_err(at)?;
    let (found, known) = (check_version(&connection, path)?, schema::VERSION);
    if found < known {
        return Err(StoreError::NotWritable {
            path: path.to_owned(),
            source: Obstacle::OldFormat { found, known },
        });
    }
    check_integrity(&connection, path)?;
    Ok(Store::new(connection, path))
}

/// The file beside a store that shows that the store is in use or was not closed.
fn find_journal(store: &Path) -> std::io::Result<Option<PathBuf>> {
    for suffix in ["-wal", "-journal"] {
        let mut name = store.as_os_str().to_owned();
        name.push(suffix);
        let journal = PathBuf::from(name);
        if journal.try_exists()? {
            return Ok(Some(journal));
        }
    }
    Ok(None)
}

/// An absolute path, of any bytes, in SQLite's URI syntax (<https://www.sqlite.org/uri.html>).
fn sqlite_uri(path: &Path) -> String {
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
