//! The rows of releases.

use rusqlite::{Connection, Row, Transaction, params};

use crate::database::{json_column, machine_id, query_rows, to_timestamp, unreadable_column};
use crate::tasks::word_column;
use crate::{ChannelKey, Digest, Release, ReleaseAction, ServiceError, Slice};

const SELECT: &str = "SELECT sequence, machine.name, library, channel, action, digest, actor, reason, gates, at \
                      FROM release JOIN machine ON machine.id = release.machine";

/// The newest release of each channel.
pub(super) fn query_newest(connection: &Connection) -> Result<Vec<Release>, ServiceError> {
    let query = format!(
        "{SELECT} WHERE sequence IN \
         (SELECT max(sequence) FROM release GROUP BY machine, library, channel) \
         ORDER BY machine.name, library, channel"
    );
    query_rows(connection, &query, [], release_from_row)
}

/// Releases of a channel, newest first, one more than the slice shows.
pub(super) fn query_page(
    connection: &Connection,
    key: &ChannelKey,
    slice: Slice,
) -> Result<Vec<Release>, ServiceError> {
    let query = format!(
        "{SELECT} WHERE machine.name = ?1 AND library = ?2 AND channel = ?3 AND sequence < ?4 \
         ORDER BY sequence DESC LIMIT ?5"
    );
    let of_page = params![
        key.machine,
        key.library,
        key.channel.to_string(),
        slice.upper_bound(),
        slice.rows_to_query()
    ];
    query_rows(connection, &query, of_page, release_from_row)
}

/// All releases of a channel, the newest last, reduced to the fields of [`ReleaseStep`].
pub(super) fn query_steps(
    connection: &Connection,
    key: &ChannelKey,
) -> Result<Vec<ReleaseStep>, ServiceError> {
    let query = "SELECT sequence, action, digest, served FROM release JOIN machine ON machine.id = release.machine \
                 WHERE machine.name = ?1 AND library = ?2 AND channel = ?3 ORDER BY sequence";
    let of_channel = params![key.machine, key.library, key.channel.to_string()];
    query_rows(connection, query, of_channel, |row| {
        Ok(ReleaseStep {
            sequence: row.get(0)?,
            action: word_column(row, 1)?,
            digest: word_column(row, 2)?,
            served: row.get(3)?,
        })
    })
}

/// Adds a release, made at a served time ([`crate::served`]), and returns the sequence that it gets.
pub(super) fn add_release(
    transaction: &Transaction<'_>,
    new: &Release,
    served: i64,
) -> Result<u64, ServiceError> {
    let machine = machine_id(transaction, &new.key.machine)?;
    let gates = serde_json::to_string(&new.gates).map_err(unreadable_column)?;
    transaction.execute(
        "INSERT INTO release (machine, library, channel, action, digest, actor, reason, gates, at, served) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            machine,
            new.key.library,
            new.key.channel.to_string(),
            new.action.to_string(),
            new.digest.as_str(),
            new.actor,
            new.reason,
            gates,
            new.at.as_millisecond(),
            served
        ],
    )?;
    Ok(transaction.last_insert_rowid().unsigned_abs())
}

fn release_from_row(row: &Row<'_>) -> rusqlite::Result<Release> {
    Ok(Release {
        sequence: row.get(0)?,
        key: ChannelKey {
            machine: row.get(1)?,
            library: row.get(2)?,
            channel: word_column(row, 3)?,
        },
        action: word_column(row, 4)?,
        digest: word_column(row, 5)?,
        actor: row.get(6)?,
        reason: row.get(7)?,
        gates: json_column(row, 8)?,
        at: to_timestamp(row.get(9)?)?,
    })
}

/// One release among those of its channel.
#[derive(Clone, Debug)]
pub(super) struct ReleaseStep {
    pub(super) sequence: u64,
    pub(super) action: ReleaseAction,
    pub(super) digest: Digest,
    /// The served time ([`crate::served`]) at which it was made.
    pub(super) served: i64,
}

/// The tables that became current and were not rolled back, in order; the current one last.
pub(super) fn tables_in_effect(steps: &[ReleaseStep]) -> Vec<&Digest> {
    let mut stack: Vec<&Digest> = Vec::new();
    for ReleaseStep { action, digest, .. } in steps {
        if *action == ReleaseAction::Rollback {
            stack.pop();
            // A rollback may return to an earlier release than the previous one.
            if let Some(place) = stack.iter().rposition(|earlier| *earlier == digest) {
                stack.truncate(place);
            }
        }
        stack.push(digest);
    }
    stack
}
