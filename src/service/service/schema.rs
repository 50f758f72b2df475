//! The versions of `service.db`.

use std::path::Path;

use rusqlite::{Connection, ErrorCode};
use sqlite::{Check, FileFormat, OpenError};

use crate::ServiceError;

/// The format of `service.db`, whose mark is "clls", for colltune's service.
pub(crate) const FORMAT: FileFormat = FileFormat {
    application_id: i32::from_be_bytes(*b"clls"),
    migrations: &[
        include_str!("schema/1.sql"),
        include_str!("schema/2.sql"),
        include_str!("schema/3.sql"),
        include_str!("schema/4.sql"),
        include_str!("schema/5.sql"),
        include_str!("schema/6.sql"),
        include_str!("schema/7.sql"),
    ],
};

/// Refuses a file that is not a database or empty, a database of another program or of a newer colltune, and one without
/// the tables of its version.
///
/// # Errors
/// [`ServiceError::BadDatabase`], [`ServiceError::Newer`]; SQLite.
pub(crate) fn check_whole(connection: &Connection, path: &Path) -> Result<(), ServiceError> {
    let checked = FORMAT.run_check(connection, Check::Objects);
    let version = checked.and_then(|()| FORMAT.check_version(connection));
    match version.map_err(|error| opening_error(path, error))? {
        0 => Err(bad_database(path, "it is empty".to_owned())),
        _ => Ok(()),
    }
}

/// Names the database in an error of opening it.
pub(crate) fn opening_error(path: &Path, error: OpenError) -> ServiceError {
    match error {
        OpenError::File(source) => ServiceError::on_file("read", path)(source),
        OpenError::Newer { found, known } => ServiceError::Newer {
            path: path.to_owned(),
            found,
            known,
        },
        OpenError::Sqlite(of_sqlite) => name_file(path, of_sqlite),
        refused @ (OpenError::NotSqlite | OpenError::OtherProgram | OpenError::Damaged { .. }) => {
            bad_database(path, refused.to_string())
        }
    }
}

/// Names the file in SQLite's error that it is no database, or a damaged one.
fn name_file(path: &Path, error: rusqlite::Error) -> ServiceError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => bad_database(path, OpenError::NotSqlite.to_string()),
        Some(ErrorCode::DatabaseCorrupt) => bad_database(path, format!("it is damaged ({error})")),
        _ => ServiceError::Database(error),
    }
}

fn bad_database(path: &Path, problem: String) -> ServiceError {
    ServiceError::BadDatabase {
        path: path.to_owned(),
        problem,
    }
}
