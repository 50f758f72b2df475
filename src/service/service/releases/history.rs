//! The rows of releases.

use rusqlite::{Connection, Row, Transaction, params};

use crate::database::{from_json, machine_id, rows, timestamp, unreadable};
use crate::tasks::word;
use crate::{ChannelKey, Digest, Release, ReleaseAction, ServiceError, Slice};

const SELECT: &str = "SELECT sequence, machine.name, library, channel, action, digest, actor, reason, gates, at \
                      FROM release JOIN machine ON machine.id = release.machine";

/// The newest release of each channel.
pub(super) fn newest_of_all(connection: &Connection) -> Result<Vec<Release>, ServiceError> {
    let query = format!(
        "{SELECT} WHERE sequence IN \
         (SELECT max(sequence) FROM release GROUP BY machine, library, channel) \
         ORDER BY machine.name, library, channel"
    );
    rows(connection, &query, [], release)
}

/// Releases of a channel, newest first, one more than the slice shows.
pub(super) fn page(
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
        slice.end(),
        slice.rows_and_one()
    ];
    rows(connection, &query, of_page, release)
}

/// All releases of a channel, the newest last, reduced to the fields of [`Step`].
pub(super) fn steps(connection: &Connection, key: &ChannelKey) -> Result<Vec<Step>, ServiceError> {
    let query = "SELECT sequence, action, digest, served FROM release JOIN machine ON machine.id = release.machine \
                 WHERE machine.name = ?1 AND library = ?2 AND channel = ?3 ORDER BY sequence";
    let of_channel = params![key.machine, key.library, key.channel.to_string()];
    rows(connection, query, of_channel, |row| {
        Ok(Step {
            sequence: row.get(0)?,
            action: word(row, 1)?,
            digest: row.get(2)?,
            served: row.get(3)?,
        })
    })
}

/// Adds a release, made at a served time ([`crate::served`]), and returns the sequence that it gets.
pub(super) fn add(
    transaction: &Transaction<'_>,
    new: &Release,
    served: i64,
) -> Result<u64, ServiceError> {
    let machine = machine_id(transaction, &new.key.machine)?;
    let gates = serde_json::to_string(&new.gates).map_err(unreadable)?;
    transaction.execute(
        "INSERT INTO release (machine, library, channel, action, digest, actor, reason, gates, at, served) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            machine,
            new.key.library,
            new.key.channel.to_string(),
            new.action.to_string(),
            new.digest,
            new.actor,
            new.reason,
            gates,
            new.at.as_millisecond(),
            served
        ],
    )?;
    Ok(transaction.last_insert_rowid().unsigned_abs())
}

fn release(row: &Row<'_>) -> rusqlite::Result<Release> {
    Ok(Release {
        sequence: row.get(0)?,
        key: ChannelKey {
            machine: row.get(1)?,
            library: row.get(2)?,
            channel: word(row, 3)?,
        },
        action: word(row, 4)?,
        digest: row.get(5)?,
        actor: row.get(6)?,
        reason: row.get(7)?,
        gates: from_json(row, 8)?,
        at: timestamp(row.get(9)?)?,
    })
}

/// One release among those of its channel.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) sequence: u64,
    pub(super) action: ReleaseAction,
    pub(super) digest: Digest,
    /// The served time ([`crate::served`]) at which it was made.
    pub(super) served: i64,
}

/// The tables that became current and were not rolled back, in order; the current one last.
pub(super) fn in_effect(steps: &[Step]) -> Vec<&Digest> {
    let mut stack: Vec<&Digest> = Vec::new();
    for Step { action, digest, .. } in steps {
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
