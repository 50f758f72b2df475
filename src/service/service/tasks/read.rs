//! Reading tasks.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::str::FromStr;

use answers::MadeTable;
use jiff::civil::date;
use jiff::tz::TimeZone;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::database::{
    json_column, machine_id, query_rows, timestamp_column, to_timestamp, unreadable_column,
};
use crate::{
    Digest, LogPart, Page, Service, ServiceError, Slice, Task, TaskFilter, TaskId, TaskState,
};

/// The most bytes of a log that are read at once.
const MOST_LOG: u64 = 256 << 10;

const COLUMNS: &str = "SELECT task.id, request, campaign.name, state, reason, follows, actor, submitted_at, \
     started_at, ended_at, attempts, exit_code, expected_node_seconds, node_seconds, outcome, schedule \
     FROM task LEFT JOIN campaign ON campaign.id = task.campaign";

impl Service {
    /// Reads a task.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`].
    pub fn read_task(&self, id: TaskId) -> Result<Task, ServiceError> {
        self.database.read(|connection| fetch_task(connection, id))
    }

    /// Lists tasks, newest first.
    ///
    /// # Errors
    /// SQLite.
    pub fn list_tasks(
        &self,
        filter: &TaskFilter,
        slice: Slice,
    ) -> Result<Page<Task>, ServiceError> {
        self.database.read(|connection| {
            let query = format!(
                "{COLUMNS} WHERE task.id < ?1 AND (?2 IS NULL OR state = ?2) \
                 AND (?3 IS NULL OR task.machine = (SELECT id FROM machine WHERE name = ?3)) \
                 AND (?4 IS NULL OR campaign.path = ?4) \
                 AND (?5 IS NULL OR task.machine IN (SELECT id FROM machine WHERE name IN (SELECT value FROM json_each(?5)))) \
                 ORDER BY task.id DESC LIMIT ?6"
            );
            let bounds = params![
                slice.upper_bound(),
                filter.state.map(|state| state.to_string()),
                filter.machine,
                filter.campaign,
                filter.machines.as_ref().map(|names| json!(names).to_string()),
                slice.rows_to_query()
            ];
            let tasks = query_rows(connection, &query, bounds, task_from_row)?;
            Ok(slice.to_page(tasks, |task| task.id))
        })
    }

    /// The number of tasks in each state, by machine.
    ///
    /// # Errors
    /// SQLite.
    pub fn task_counts(&self) -> Result<Vec<(String, TaskState, u64)>, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT machine.name, state, count(*) FROM task JOIN machine ON machine.id = task.machine \
                         GROUP BY task.machine, state ORDER BY machine.name, state";
            let count = |row: &Row<'_>| Ok((row.get(0)?, word_column(row, 1)?, row.get(2)?));
            query_rows(connection, query, [], count)
        })
    }

    /// The node-seconds used by a machine's tasks that ended in this calendar month (UTC) or have not ended. The
    /// numbers of running tasks may be up to a minute old.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] of the machine; SQLite.
    pub fn node_seconds_this_month(&self, machine: &str) -> Result<f64, ServiceError> {
        let today = self.clock.now().to_zoned(TimeZone::UTC);
        let first = date(today.year(), today.month(), 1).to_zoned(TimeZone::UTC);
        let first = first.map_or(0, |first| first.timestamp().as_millisecond());
        self.database.read(|connection| {
            let machine = machine_id(connection, machine)?;
            let mut statement = connection.prepare_cached(
                "SELECT coalesce(sum(node_seconds), 0.0) FROM task \
                 WHERE machine = ?1 AND (ended_at IS NULL OR ended_at >= ?2)",
            )?;
            Ok(statement.query_row(params![machine, first], |row| row.get(0))?)
        })
    }

    /// Reads at most 256 KiB of a task's log from byte `from` on, up to the end of a character.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::NoLog`].
    pub fn read_log(&self, id: TaskId, from: u64) -> Result<LogPart, ServiceError> {
        self.read_log_part(id, from, MOST_LOG)
    }

    /// As [`Service::read_log`], with another limit on the number of bytes.
    pub(super) fn read_log_part(
        &self,
        id: TaskId,
        from: u64,
        most: u64,
    ) -> Result<LogPart, ServiceError> {
        self.read_task(id)?;
        let path = self.task_folder(id).join("log");
        let read = || -> io::Result<_> {
            let mut file = File::open(&path)?;
            let length = file.metadata()?.len();
            let from = from.min(length);
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            file.take(most).read_to_end(&mut bytes)?;
            if bytes.len() as u64 == most {
                bytes.truncate(bytes.len() - count_unfinished(&bytes));
            }
            Ok(LogPart {
                text: String::from_utf8_lossy(&bytes).into_owned(),
                next: (from + bytes.len() as u64).min(length),
                length,
            })
        };
        read().map_err(|error| match error.kind() {
            ErrorKind::NotFound => ServiceError::NoLog(id),
            _ => ServiceError::on_file("read", &path)(error),
        })
    }
}

/// The number of bytes at the end that are the beginning of a character.
fn count_unfinished(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last();
    let rest = last.map_or(&[][..], |chunk| chunk.invalid());
    match std::str::from_utf8(rest) {
        Err(error) if error.error_len().is_none() => rest.len(),
        _ => 0,
    }
}

/// Reads a task within a transaction.
///
/// # Errors
/// [`ServiceError::NotFound`]; SQLite.
pub(super) fn fetch_task(connection: &Connection, id: TaskId) -> Result<Task, ServiceError> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE task.id = ?1"))?;
    // No row has a larger number.
    let row = i64::try_from(id).unwrap_or(i64::MAX);
    let task = statement.query_row([row], task_from_row).optional()?;
    task.ok_or_else(|| ServiceError::not_found("task", id))
}

/// Parses a word in a column, such as a state or a digest.
pub(crate) fn word_column<T: FromStr>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    parse_word(&row.get::<_, String>(column)?)
}

/// Parses a word in a column that may be null.
pub(crate) fn optional_word_column<T: FromStr>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<T>> {
    let word: Option<String> = row.get(column)?;
    word.as_deref().map(parse_word).transpose()
}

fn parse_word<T: FromStr>(word: &str) -> rusqlite::Result<T> {
    let unknown = |_| unreadable_column(io::Error::other(format!("the unknown word `{word}`")));
    word.parse().map_err(unknown)
}

/// The task of a row of [`COLUMNS`], in their order.
fn task_from_row(row: &Row<'_>) -> rusqlite::Result<Task> {
    let outcome: Option<String> = row.get(14)?;
    let outcome: Option<Value> = outcome
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(unreadable_column)?;
    Ok(Task {
        id: row.get(0)?,
        request: json_column(row, 1)?,
        name: row.get(2)?,
        state: word_column(row, 3)?,
        reason: row.get(4)?,
        follows: row.get(5)?,
        actor: row.get(6)?,
        schedule: row.get(15)?,
        submitted_at: to_timestamp(row.get(7)?)?,
        started_at: timestamp_column(row, 8)?,
        ended_at: timestamp_column(row, 9)?,
        attempts: row.get(10)?,
        exit_code: row.get(11)?,
        expected_node_seconds: row.get(12)?,
        node_seconds: row.get(13)?,
        made: outcome.as_ref().and_then(find_made_table),
        outcome,
    })
}

/// The table that an outcome names.
fn find_made_table(outcome: &Value) -> Option<Digest> {
    MadeTable::deserialize(outcome).ok().map(|made| made.digest)
}
