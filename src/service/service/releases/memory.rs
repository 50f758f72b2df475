//! The released tables in memory, for nodes and lookups.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use table::Table;

use super::history::{self, ReleaseStep};
use super::pulls::NotedPulls;
use crate::database::lock_ignoring_poison;
use crate::{ChannelKey, Digest, Manifest, Service, ServiceError};

/// The released tables.
#[derive(Debug, Default)]
pub(crate) struct ReleasedTables {
    /// The locks of channels: the releases of a channel are made one at a time.
    making: Mutex<HashMap<ChannelKey, Weak<Mutex<()>>>>,
    channels: RwLock<HashMap<ChannelKey, Arc<ChannelState>>>,
    pub(super) noted: Mutex<NotedPulls>,
}

/// The state of a channel.
#[derive(Debug)]
struct ChannelState {
    sequence: u64,
    digest: Digest,
    /// The current table; `None` if it could not be read.
    table: Option<Arc<Table>>,
    /// The previous tables, the latest first.
    replaced: Vec<ReplacedTable>,
}

/// A table that a channel had before.
#[derive(Debug)]
struct ReplacedTable {
    digest: Digest,
    /// The served time ([`crate::served`]) at which it was replaced.
    replaced_at: i64,
}

impl ReleasedTables {
    /// The lock of a channel's releases.
    pub(super) fn channel_lock(&self, key: &ChannelKey) -> Arc<Mutex<()>> {
        let mut making = lock_ignoring_poison(&self.making);
        if let Some(known) = making.get(key).and_then(Weak::upgrade) {
            return known;
        }
        making.retain(|_, known| known.strong_count() > 0);
        let new = Arc::default();
        making.insert(key.clone(), Arc::downgrade(&new));
        new
    }

    fn find_channel(&self, key: &ChannelKey) -> Result<Arc<ChannelState>, ServiceError> {
        let channels = self.channels.read().unwrap_or_else(PoisonError::into_inner);
        let found = channels.get(key).cloned();
        found.ok_or_else(|| ServiceError::not_found("channel", key))
    }

    /// Sets the state of a channel from its releases; tables replaced before the served time `since` are forgotten.
    pub(super) fn set_channel(
        &self,
        key: &ChannelKey,
        steps: &[ReleaseStep],
        table: Option<Table>,
        since: i64,
    ) {
        let Some(newest) = steps.last() else {
            return;
        };
        let mut replaced: Vec<ReplacedTable> = Vec::new();
        let ends = steps.iter().skip(1).map(|next| next.served);
        let ended: Vec<_> = steps.iter().zip(ends).collect();
        for (step, end) in ended.into_iter().rev() {
            let is_known = replaced.iter().any(|known| known.digest == step.digest);
            if end >= since && step.digest != newest.digest && !is_known {
                replaced.push(ReplacedTable {
                    digest: step.digest.clone(),
                    replaced_at: end,
                });
            }
        }
        let current = ChannelState {
            sequence: newest.sequence,
            digest: newest.digest.clone(),
            table: table.map(Arc::new),
            replaced,
        };
        let mut channels = self
            .channels
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        channels.insert(key.clone(), Arc::new(current));
    }
}

impl Service {
    /// The manifest of a channel, from memory, without SQLite.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] if the channel has no release.
    pub fn channel_manifest(&self, key: &ChannelKey) -> Result<Manifest, ServiceError> {
        let current = self.released.find_channel(key)?;
        let since = self.served.now_minus(self.configuration.longest_wall_time);
        let recent = current.replaced.iter();
        let recent = recent.filter(|table| table.replaced_at >= since);
        let others = recent.map(|table| table.digest.clone());
        Ok(Manifest {
            key: key.clone(),
            sequence: current.sequence,
            digest: current.digest.clone(),
            keep: [current.digest.clone()].into_iter().chain(others).collect(),
        })
    }

    /// The released table of a channel, from memory. A withdrawn channel's table has no rules.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] if the channel has no release; [`ServiceError::Damaged`].
    pub fn released_table(&self, key: &ChannelKey) -> Result<Arc<Table>, ServiceError> {
        let current = self.released.find_channel(key)?;
        match &current.table {
            Some(table) => Ok(Arc::clone(table)),
            // The table's file may have been repaired since the start.
            None => self.read_table(&current.digest).map(Arc::new),
        }
    }

    /// Reads a channel's releases into memory.
    pub(crate) fn load_channel(&self, key: &ChannelKey) -> Result<(), ServiceError> {
        let steps = self
            .database
            .read(|connection| history::query_steps(connection, key))?;
        let table = steps
            .last()
            .and_then(|step| self.read_table(&step.digest).ok());
        let since = self.served.now_minus(self.configuration.longest_wall_time);
        self.released.set_channel(key, &steps, table, since);
        Ok(())
    }
}
