//! Tables by digest.

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
