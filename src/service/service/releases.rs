//! Channels and releases.

mod history;
mod make;
mod memory;
mod pulls;

use crate::{ChannelKey, Page, Release, Service, ServiceError, Slice};

pub(crate) use make::parse_channel_library;
pub(crate) use memory::ReleasedTables;
pub use pulls::Pull;

impl Service {
    /// The newest release of each channel, sorted by the channels' names.
    ///
    /// # Errors
    /// SQLite.
    pub fn newest_releases(&self) -> Result<Vec<Release>, ServiceError> {
        self.database.read(history::query_newest)
    }

    /// Releases of a channel, newest first.
    ///
    /// # Errors
    /// SQLite.
    pub fn list_releases(
        &self,
        key: &ChannelKey,
        slice: Slice,
    ) -> Result<Page<Release>, ServiceError> {
        let rows = self
            .database
            .read(|connection| history::query_page(connection, key, slice))?;
        Ok(slice.to_page(rows, |release| release.sequence))
    }
}
