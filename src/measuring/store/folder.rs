//! The folder of a store.

use std::fs;
use std::path::Path;

use crate::StoreError;

/// Creates the folder for a file, and its parents.
pub(crate) fn create_folder_of(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|source| StoreError::Folder {
        path: folder.to_owned(),
        source,
    })
}
