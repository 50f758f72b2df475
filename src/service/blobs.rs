//! Tables by digest.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::{Digest, Service, ServiceError};

impl Service {
    /// Keeps bytes under their digest, whole and synced before this returns. Twice is no error.
    pub(crate) fn keep_blob(&self, bytes: &[u8]) -> Result<Digest, ServiceError> {
        todo!("{}", bytes.len())
    }

    /// The bytes of a blob, checked against the digest.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Damaged`].
    pub fn blob(&self, digest: &Digest) -> Result<Vec<u8>, ServiceError> {
        todo!("{digest}")
    }
}

/// Where a state folder, or a backup of one, has the blob with this digest.
pub(crate) fn place(state: &Path, digest: &Digest) -> PathBuf {
    state.join("blobs/sha256").join(digest.as_str())
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
