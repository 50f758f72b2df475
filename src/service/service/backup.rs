//! Copies of a service's state.
//!
//! ```text
//! BACKUP/service.db        the database at one moment
//! BACKUP/service.db.sha256 its digest, as sha256sum writes it
//! BACKUP/blobs/sha256/…    the tables that it names
//! ```

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::OpenFlags;
use tempfile::TempDir;

use crate::database::{create_private_file, ensure_private_file, open_connection};
use crate::modes::{OWN_MODE, STATE_MODE};
use crate::service::DATABASE;
use crate::{Digest, ServiceError, blobs, schema};

/// The digest of the database.
const CHECKSUM: &str = "service.db.sha256";

/// Copies the database and the blobs of a state folder to a new folder, also while a service uses the state folder.
/// The copy shows the state of one moment; it is checked and synced to disk when this returns, and is removed if an
/// error occurs. It contains the hashes of tokens but no secrets, and no logs of tasks.
///
/// # Errors
/// If the target exists; [`ServiceError::Damaged`], [`ServiceError::NotFound`] of a table,
/// [`ServiceError::BadDatabase`], [`ServiceError::Newer`]; files and SQLite.
pub fn write_backup(state: &Path, target: &Path) -> Result<(), ServiceError> {
    let database = state.join(DATABASE);
    files::open_regular(&database).map_err(ServiceError::on_file("read", &database))?;
    let half = UnfinishedFolder::new(target, OWN_MODE)?;
    let copy = half.path().join(DATABASE);
    // SQLite accepts an existing empty file, and only its owner can read this one.
    ensure_private_file(&copy)?;
    let connection = open_connection(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::check_whole(&connection, &database)?;
    // This is one read transaction. Blobs are written before the rows that name them, and are never removed.
    let name = copy.to_str().ok_or_else(|| {
        let error = io::Error::new(ErrorKind::InvalidInput, "its name is not UTF-8");
        ServiceError::on_file("create", &copy)(error)
    })?;
    connection.execute("VACUUM INTO ?1", [name])?;
    let sum = half.path().join(CHECKSUM);
    files::write(&sum, sha256sum_line(&copy)?.as_bytes())
        .map_err(ServiceError::on_file("write", &sum))?;
    check_and_copy_blobs(state, half.path())?;
    half.move_to_target()
}

/// Makes a state folder from a backup, after checking its database and all digests. The folder must not exist, and is
/// created only if all checks pass. Browser sessions end; tokens that were revoked after the backup was made are
/// valid again.
///
/// # Errors
/// [`ServiceError::Damaged`], [`ServiceError::NotFound`] of a table, [`ServiceError::BadDatabase`],
/// [`ServiceError::Newer`]; if the folder exists; files and SQLite.
pub fn restore_backup(backup: &Path, state: &Path) -> Result<(), ServiceError> {
    let half = UnfinishedFolder::new(state, STATE_MODE)?;
    let (from, to) = (backup.join(DATABASE), half.path().join(DATABASE));
    let sum = backup.join(CHECKSUM);
    let expected = files::read(&sum).map_err(ServiceError::on_file("read", &sum))?;
    files::open_regular(&from)
        .and_then(|mut from| io::copy(&mut from, &mut create_private_file(&to)?))
        .map_err(ServiceError::on_file("copy", &from))?;
    // Check the copy, not the original.
    if sha256sum_line(&to)?.as_bytes() != expected {
        return Err(ServiceError::BadDatabase {
            path: from,
            problem: format!("its digest is not the one in {CHECKSUM}; use another backup"),
        });
    }
    check_and_copy_blobs(backup, half.path())?;
    let connection = open_connection(&to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.execute("DELETE FROM session", [])?;
    connection.close().map_err(|(_, error)| error)?;
    half.move_to_target()
}

/// A temporary folder beside the target, removed on drop unless [`UnfinishedFolder::move_to_target`] renames it.
struct UnfinishedFolder {
    folder: TempDir,
    target: PathBuf,
    /// The mode of the target, and of folders above it that were missing.
    mode: u32,
}

impl UnfinishedFolder {
    /// Creates the temporary folder; the target must not exist.
    fn new(target: &Path, mode: u32) -> Result<Self, ServiceError> {
        files::check_folder(target)?;
        let create = || {
            let target = std::path::absolute(target)?;
            if fs::symlink_metadata(&target).is_ok() {
                let error = io::Error::new(ErrorKind::AlreadyExists, "it already exists");
                return Err(error);
            }
            let above = target.parent().unwrap_or(&target);
            files::create_folder(above, mode)?;
            let folder = tempfile::Builder::new()
                .prefix(".colltune-")
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(above)?;
            Ok(Self {
                folder,
                target,
                mode,
            })
        };
        create().map_err(ServiceError::on_file("create", target))
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Sets the folder's mode, syncs everything to disk, and renames the folder to the target.
    fn move_to_target(self) -> Result<(), ServiceError> {
        let named = files::set_folder_mode(self.path(), self.mode)
            .and_then(|()| files::move_new_folder(self.path(), &self.target));
        named.map_err(ServiceError::on_file("create", &self.target))?;
        // The temporary name no longer exists.
        let _ = self.folder.keep();
        Ok(())
    }
}

/// The line that `sha256sum` prints for the database.
fn sha256sum_line(database: &Path) -> Result<String, ServiceError> {
    let digest = File::open(database).and_then(Digest::of_reader);
    let digest = digest.map_err(ServiceError::on_file("read", database))?;
    Ok(format!("{digest}  {DATABASE}\n"))
}

/// Checks the database of the copy, and copies and checks the blobs that it names.
fn check_and_copy_blobs(from: &Path, copy: &Path) -> Result<(), ServiceError> {
    let path = copy.join(DATABASE);
    let connection = open_connection(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::check_whole(&connection, &from.join(DATABASE))?;
    let bad = |problem: &str| ServiceError::BadDatabase {
        path: from.join(DATABASE),
        problem: format!("it is damaged ({problem})"),
    };
    let query = "PRAGMA integrity_check(1)";
    let verdict: String = connection.query_row(query, [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(bad(&verdict.replace('\n', " ")));
    }
    if connection.prepare("PRAGMA foreign_key_check")?.exists([])? {
        return Err(bad("a row names another one that is missing"));
    }
    let mut digests = connection.prepare("SELECT digest FROM blob")?;
    let mut digests = digests.query([])?;
    while let Some(row) = digests.next()? {
        let digest: String = row.get(0)?;
        let digest: Digest = digest.parse().map_err(bad)?;
        let bytes = blobs::read_checked(from, &digest)?;
        let blob_path = blobs::file_path(copy, &digest);
        let folder = blob_path.parent().unwrap_or(&blob_path);
        files::create_folder(folder, OWN_MODE)
            .and_then(|()| files::create_new(&blob_path, blobs::MODE)?.write_all(&bytes))
            .map_err(ServiceError::on_file("write", &blob_path))?;
    }
    Ok(())
}
