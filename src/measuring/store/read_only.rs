//! Reading a store without write permission.

use std::path::Path;

use rusqlite::Connection;
use sqlite::{Check, OpenError};

use crate::Store;
use crate::error::{Obstacle, StoreError};
use crate::open::opening_error;
use crate::schema::FORMAT;

/// Opens an existing store without writing to it or beside it.
pub(crate) fn open_without_writing(path: &Path) -> Result<Store, StoreError> {
    let file = |source| StoreError::for_file(path, source);
    // SQLite follows links, so the files beside the store are beside the link's target.
    let target = path.canonicalize().map_err(file)?;
    let journal = sqlite::find_journal(&target).map_err(file)?;
    let opened = sqlite::connect_without_writing(&target, journal.as_deref())
        .map_err(OpenError::from)
        .map_err(|error| opening_error(path, error))
        .and_then(|connection| check_newest_version(connection, path));
    opened.map_err(|mut error| {
        if let StoreError::NotWritable { source, .. } = &mut error
            && let (Obstacle::Refused(_), Some(journal)) = (&*source, journal)
        {
            *source = Obstacle::NotClosed { journal };
        }
        error
    })
}

/// Checks a store that cannot be migrated.
fn check_newest_version(connection: Connection, path: &Path) -> Result<Store, StoreError> {
    let at = |error| opening_error(path, error);
    let (found, known) = (
        FORMAT.check_version(&connection).map_err(at)?,
        FORMAT.newest_version(),
    );
    if found < known {
        return Err(StoreError::NotWritable {
            path: path.to_owned(),
            source: Obstacle::OldFormat { found, known },
        });
    }
    FORMAT.run_check(&connection, Check::Pages).map_err(at)?;
    Ok(Store::new(connection, path))
}
