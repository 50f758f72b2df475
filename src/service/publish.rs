//! The folders of channels on disk: what `export::deploy` writes, re-derived from the database at start.

use crate::{Service, ServiceError};

impl Service {
    /// Brings the folders of channels in line with the database, at start.
    pub(crate) fn restore_channels(&self) -> Result<(), ServiceError> {
        Ok(())
    }
}
