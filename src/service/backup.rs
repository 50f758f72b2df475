//! Copies of a service's state.

use std::path::Path;

use crate::ServiceError;

/// Writes a copy of a state folder's database and blobs to a new folder, also while a service uses it.
///
/// # Errors
/// If the target exists; files and SQLite.
pub fn backup(state: &Path, target: &Path) -> Result<(), ServiceError> {
    todo!("{state:?} {target:?}")
}

/// Makes a state folder of a backup, after its database and all digests were checked. The folder must not exist.
///
/// # Errors
/// [`ServiceError::Damaged`], [`ServiceError::Newer`]; files and SQLite.
pub fn restore(backup: &Path, state: &Path) -> Result<(), ServiceError> {
    todo!("{backup:?} {state:?}")
}
