//! Tables by digest: files that never change, each with a row in the database.
//!
//! The file is written before the row. A file without a row, left by a crash between the two, does no harm: its name
//! is its digest.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::{Transaction, params};

use crate::database::now_milliseconds;
use crate::modes::OWN_MODE;
use crate::{Digest, Service, ServiceError};

/// The mode of blobs, which never change.
pub(crate) const MODE: u32 = 0o444;

/// The path of the blob with this digest in a state folder, or in a backup of one.
pub(crate) fn file_path(state: &Path, digest: &Digest) -> PathBuf {
    let folder = state.join("blobs/sha256").join(&digest.as_str()[..2]);
    folder.join(format!("{digest}.yaml"))
}

/// Reads a blob of a state folder and checks it against the digest.
///
/// # Errors
/// [`ServiceError::NotFound`], [`ServiceError::Damaged`]; files.
pub(crate) fn read_checked(state: &Path, digest: &Digest) -> Result<Vec<u8>, ServiceError> {
    let path = file_path(state, digest);
    match files::read(&path) {
        Ok(bytes) if Digest::of_bytes(&bytes) == *digest => Ok(bytes),
        Ok(_) => Err(ServiceError::Damaged {
            digest: digest.clone(),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(ServiceError::not_found("table", digest))
        }
        Err(error) => Err(ServiceError::on_file("read", &path)(error)),
    }
}

/// Adds the row of a blob, unless the row exists. The file of the blob must exist.
pub(crate) fn add_row(
    transaction: &Transaction<'_>,
    digest: &Digest,
    bytes: usize,
) -> Result<(), ServiceError> {
    let mut statement = transaction.prepare_cached(
        "INSERT OR IGNORE INTO blob (digest, bytes, added_at) VALUES (?1, ?2, ?3)",
    )?;
    statement.execute(params![digest.as_str(), bytes as i64, now_milliseconds()])?;
    Ok(())
}

impl Service {
    /// Stores bytes under their digest; they are synced to disk when this returns. Storing the same bytes again is no
    /// error.
    pub(crate) fn keep_blob(&self, bytes: &[u8]) -> Result<Digest, ServiceError> {
        let digest = self.write_blob(bytes)?;
        self.database
            .write(|transaction| add_row(transaction, &digest, bytes.len()))?;
        Ok(digest)
    }

    /// Writes the file of a blob, replacing a damaged one; the caller adds the row ([`add_row`]).
    pub(crate) fn write_blob(&self, bytes: &[u8]) -> Result<Digest, ServiceError> {
        let digest = Digest::of_bytes(bytes);
        let path = file_path(&self.configuration.state, &digest);
        if read_checked(&self.configuration.state, &digest).is_err() {
            let written =
                files::write_below(&self.configuration.state, &path, bytes, MODE, OWN_MODE);
            self.disk
                .note_refusal(written.map_err(ServiceError::on_file("write", &path)))?;
        }
        Ok(digest)
    }

    /// Reads a blob and checks it against the digest. SQLite is queried only if the file is missing.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Damaged`]; a file that cannot be read.
    pub fn read_blob(&self, digest: &Digest) -> Result<Vec<u8>, ServiceError> {
        let found = read_checked(&self.configuration.state, digest);
        if let Err(ServiceError::NotFound { .. }) = found
            && self.database.read(|connection| {
                let mut row = connection.prepare_cached("SELECT 1 FROM blob WHERE digest = ?1")?;
                Ok(row.exists([digest.as_str()])?)
            })?
        {
            return Err(ServiceError::Damaged {
                digest: digest.clone(),
            });
        }
        found
    }
}
