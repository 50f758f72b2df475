//! The clients that have pulled each table.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use printable::is_unprintable;
use rusqlite::params;
use serde::Serialize;
use utoipa::ToSchema;

use crate::database::{
    lock_ignoring_poison, machine_id, now_milliseconds, query_rows, to_timestamp,
};
use crate::tasks::word_column;
use crate::{ChannelKey, Digest, Service, ServiceError};

/// The least time between two records of the same client and digest.
const PAUSE: Duration = Duration::from_secs(10 * 60);
/// The most pulls that are kept, over all channels; for a while up to twice as many. The oldest are removed first.
const MOST: usize = 50_000;

/// The last recorded pull, by channel and client.
pub(super) type NotedPulls = HashMap<(ChannelKey, String), (Digest, Instant)>;

/// A client's last pull.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Pull {
    /// The client, usually a host name.
    pub client: String,
    /// The table that it pulled.
    pub digest: Digest,
    /// The time, accurate to about ten minutes.
    #[schema(value_type = String)]
    pub at: jiff::Timestamp,
}

impl Service {
    /// Records that a client has pulled a digest. SQLite is used only if the digest is new or was last recorded over
    /// ten minutes ago.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if the client's name does not have 1 to 255 characters; SQLite.
    pub fn note_pull(
        &self,
        key: &ChannelKey,
        client: &str,
        digest: &Digest,
    ) -> Result<(), ServiceError> {
        if client.is_empty() || client.len() > 255 || client.contains(is_unprintable) {
            let problem = "a client's name has 1 to 255 printable characters";
            return Err(ServiceError::invalid("client", problem));
        }
        let place = (key.clone(), client.to_owned());
        let is_full = {
            let mut noted = lock_ignoring_poison(&self.released.noted);
            let known = noted.get(&place);
            if known.is_some_and(|(known, at)| known == digest && at.elapsed() < PAUSE) {
                return Ok(());
            }
            let is_full = noted.len() >= MOST;
            if is_full {
                noted.clear();
            }
            noted.insert(place, (digest.clone(), Instant::now()));
            is_full
        };
        self.database.write(|transaction| {
            let machine = machine_id(transaction, &key.machine)?;
            let channel = key.channel.to_string();
            let mut statement = transaction.prepare_cached(
                "INSERT OR REPLACE INTO pull (client, machine, library, channel, digest, at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            statement.execute(params![
                client,
                machine,
                key.library,
                channel,
                digest.as_str(),
                now_milliseconds()
            ])?;
            if is_full {
                let oldest = "SELECT at FROM pull ORDER BY at DESC LIMIT 1 OFFSET ?1";
                let oldest = format!("DELETE FROM pull WHERE at < ({oldest})");
                transaction.execute(&oldest, [MOST as i64])?;
            }
            Ok(())
        })
    }

    /// The last pull of each client of a channel, the latest first; at most 50 000.
    ///
    /// # Errors
    /// SQLite.
    pub fn list_pulls(&self, key: &ChannelKey) -> Result<Vec<Pull>, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT client, digest, at FROM pull JOIN machine ON machine.id = pull.machine \
                 WHERE machine.name = ?1 AND library = ?2 AND channel = ?3 ORDER BY at DESC, client LIMIT ?4";
            let channel = key.channel.to_string();
            let of_channel = params![key.machine, key.library, channel, MOST as i64];
            query_rows(connection, query, of_channel, |row| {
                Ok(Pull {
                    client: row.get(0)?,
                    digest: word_column(row, 1)?,
                    at: to_timestamp(row.get(2)?)?,
                })
            })
        })
    }
}
