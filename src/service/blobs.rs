//! Tables by digest: files that never change, each with a row in the database.
//!
//! The file is written first. One that is left without its row, because a process or the machine stopped in between,
//! harms nothing: its name says what it is.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::database::now;
use crate::{Digest, Service, ServiceError};

/// Where a state folder, or a backup of one, has the blob with this digest.
pub(crate) fn place(state: &Path, digest: &Digest) -> PathBuf {
    let folder = state.join("blobs/sha256").join(&digest.as_str()[..2]);
    folder.join(format!("{digest}.yaml"))
}

/// The bytes of a blob of a state folder, checked against the digest.
///
/// # Errors
/// [`ServiceError::NotFound`], [`ServiceError::Damaged`]; files.
pub(crate) fn read(state: &Path, digest: &Digest) -> Result<Vec<u8>, ServiceError> {
    let path = place(state, digest);
    match files::read(&path) {
        Ok(bytes) if Digest::of(&bytes) == *digest => Ok(bytes),
        Ok(_) => Err(ServiceError::Damaged {
            digest: digest.clone(),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(ServiceError::NotFound {
            kind: "table",
            name: digest.to_string(),
        }),
        Err(error) => Err(ServiceError::file("read", &path)(error)),
    }
}

/// Adds the row of a blob whose file is there, unless it has one.
pub(crate) fn add_row(
    transaction: &Transaction<'_>,
    digest: &Digest,
    bytes: usize,
) -> Result<(), ServiceError> {
    let mut statement = transaction.prepare_cached(
        "INSERT OR IGNORE INTO blob (digest, bytes, added_at) VALUES (?1, ?2, ?3)",
    )?;
    statement.execute(params![digest, bytes as i64, now()])?;
    Ok(())
}

impl Service {
    /// Keeps bytes under their digest, whole and synced before this returns. Twice is no error.
    ///
    /// # Errors
    /// Files and SQLite.
    pub(crate) fn keep_blob(&self, bytes: &[u8]) -> Result<Digest, ServiceError> {
        let digest = self.write_blob(bytes)?;
        self.database
            .write(|transaction| add_row(transaction, &digest, bytes.len()))?;
        Ok(digest)
    }

    /// Writes the file of a blob; [`add_row`] is to follow. A damaged file is replaced.
    ///
    /// # Errors
    /// Files.
    pub(crate) fn write_blob(&self, bytes: &[u8]) -> Result<Digest, ServiceError> {
        let digest = Digest::of(bytes);
        let path = place(&self.configuration.state, &digest);
        if read(&self.configuration.state, &digest).is_err() {
            write(&self.configuration.state, &path, bytes)
                .map_err(ServiceError::file("write", &path))?;
        }
        Ok(digest)
    }

    /// The bytes of a blob, checked against the digest. SQLite is only asked where the file is missing.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Damaged`]; a file that cannot be read.
    pub fn blob(&self, digest: &Digest) -> Result<Vec<u8>, ServiceError> {
        let found = read(&self.configuration.state, digest);
        if let Err(ServiceError::NotFound { .. }) = found
            && self.database.read(|rows| has_row(rows, digest))?
        {
            return Err(ServiceError::Damaged {
                digest: digest.clone(),
            });
        }
        found
    }
}

fn has_row(connection: &Connection, digest: &Digest) -> Result<bool, ServiceError> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM blob WHERE digest = ?1")?;
    let found = statement.query_row([digest], |_| Ok(())).optional()?;
    Ok(found.is_some())
}

/// Writes an immutable file, whole or not at all, in folders that are made and synced.
fn write(state: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(state);
    let made: Vec<&Path> = folder
        .ancestors()
        .take_while(|folder| folder.starts_with(state))
        .collect();
    let is_new = !folder.is_dir();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut file = tempfile::NamedTempFile::with_prefix_in(".new-", folder)?;
    file.write_all(bytes)?;
    file.as_file()
        .set_permissions(Permissions::from_mode(0o444))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    let changed = if is_new { &made[..] } else { &made[..1] };
    changed
        .iter()
        .try_for_each(|folder| File::open(folder)?.sync_all())
}
