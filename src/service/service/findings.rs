//! Findings: changes of trends that have one cause, and what people decided about them.
//!
//! Changes of a machine that are found within a week, in one direction and with one cause, are one finding while nobody
//! has closed it. A change and a decision are rows that nothing alters.

mod controls;

use answers::{FindingNote, FoundChange, ListedFinding, TrendQuantity, Triage};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use self::controls::{ControlledChange, find_control};
use crate::database::{now_milliseconds, query_rows, to_timestamp};
use crate::tasks::word_column;
use crate::trends::series_from_row;
use crate::webhooks::tell_webhooks;
use crate::{
    Actor, FindingCause, FindingState, Page, Scope, Service, ServiceError, Slice, TaskId,
    TrendFinding, WebhookEvent, audit,
};

/// The time within which changes are one finding, in milliseconds.
const TOGETHER: i64 = 7 * 24 * 60 * 60 * 1000;
/// The longest reason of a decision, in bytes.
const LONGEST_REASON: usize = 2000;

/// A change that was found.
pub(crate) struct NewChange {
    pub(crate) series: i64,
    pub(crate) quantity: TrendQuantity,
    pub(crate) before: f64,
    pub(crate) after: f64,
    pub(crate) first_task: TaskId,
    pub(crate) began_at: i64,
    pub(crate) found_by: TaskId,
    pub(crate) cause: FindingCause,
    pub(crate) is_slower: bool,
}

/// The selection of findings.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct FindingFilter {
    /// Only those in this state.
    pub state: Option<FindingState>,
    /// Only those of this machine.
    pub machine: Option<String>,
    /// Only those of these machines, as for a reader of some machines.
    #[serde(skip)]
    #[param(ignore)]
    pub machines: Option<Vec<String>>,
}

/// Adds changes to findings, which begin if there are none.
pub(crate) fn record_changes(
    transaction: &Transaction<'_>,
    epoch: i64,
    changes: &[NewChange],
) -> Result<(), ServiceError> {
    for change in changes {
        let finding = find_or_begin_finding(transaction, epoch, change)?;
        transaction.execute(
            "INSERT INTO change (finding, series, epoch, quantity, before, after, first_task, found_by, began_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                finding,
                change.series,
                epoch,
                change.quantity.to_string(),
                change.before,
                change.after,
                change.first_task,
                change.found_by,
                change.began_at
            ],
        )?;
    }
    Ok(())
}

fn find_or_begin_finding(
    transaction: &Transaction<'_>,
    epoch: i64,
    change: &NewChange,
) -> Result<i64, ServiceError> {
    let cause = change.cause.to_string();
    let now = now_milliseconds();
    let find = "SELECT id FROM finding WHERE epoch = ?1 AND cause = ?2 AND slower = ?3 AND found_at > ?4 \
                AND state IN ('open', 'acknowledged') ORDER BY id DESC LIMIT 1";
    let alike = params![epoch, cause, change.is_slower, now - TOGETHER];
    let found = transaction
        .query_row(find, alike, |row| row.get(0))
        .optional()?;
    if let Some(id) = found {
        return Ok(id);
    }
    transaction.execute(
        "INSERT INTO finding (epoch, cause, slower, found_at, state) VALUES (?1, ?2, ?3, ?4, 'open')",
        params![epoch, cause, change.is_slower, now],
    )?;
    let id = transaction.last_insert_rowid();
    tell_of_finding(transaction, WebhookEvent::FindingOpened, id)?;
    Ok(id)
}

/// Tells webhooks of a finding.
fn tell_of_finding(
    transaction: &Transaction<'_>,
    event: WebhookEvent,
    id: i64,
) -> Result<(), ServiceError> {
    let TrendFinding {
        machine,
        library,
        cause,
        slower,
        state,
        notes,
        ..
    } = read_one(transaction, id.unsigned_abs())?;
    let mut data = json!({"finding": id, "library": library, "cause": cause, "slower": slower, "state": state});
    if let Some(note) = notes.first() {
        data["actor"] = json!(note.actor);
        data["reason"] = json!(note.reason);
    }
    tell_webhooks(transaction, event, &machine, &data)
}

impl Service {
    /// Findings, newest first.
    ///
    /// # Errors
    /// SQLite.
    pub fn list_findings(
        &self,
        filter: &FindingFilter,
        slice: Slice,
    ) -> Result<Page<ListedFinding>, ServiceError> {
        let state = filter.state.map(|state| state.to_string());
        let machines = filter.machines.as_ref();
        let machines = machines.map(|names| json!(names).to_string());
        self.database.read(|connection| {
            let query = format!(
                "SELECT {COLUMNS}, (SELECT count(*) FROM change WHERE change.finding = finding.id) {FROM} \
                 WHERE (?1 IS NULL OR finding.state = ?1) AND (?2 IS NULL OR machine.name = ?2) \
                 AND (?3 IS NULL OR machine.name IN (SELECT value FROM json_each(?3))) \
                 AND finding.id < ?4 ORDER BY finding.id DESC LIMIT ?5"
            );
            let (end, most) = (slice.upper_bound(), slice.rows_to_query());
            let bounds = params![state, filter.machine, machines, end, most];
            let findings = query_rows(connection, &query, bounds, listed_from_row)?;
            Ok(slice.to_page(findings, |finding| finding.id))
        })
    }

    /// The number of findings in each state, by machine.
    ///
    /// # Errors
    /// SQLite.
    pub fn finding_counts(&self) -> Result<Vec<(String, FindingState, u64)>, ServiceError> {
        self.database.read(|connection| {
            let query = format!(
                "SELECT machine.name, finding.state, count(*) {FROM} GROUP BY 1, 2 ORDER BY 1, 2"
            );
            let count = |row: &Row<'_>| Ok((row.get(0)?, word_column(row, 1)?, row.get(2)?));
            query_rows(connection, &query, [], count)
        })
    }

    /// A finding.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`]; SQLite.
    pub fn read_finding(&self, id: u64) -> Result<TrendFinding, ServiceError> {
        self.database.read(|connection| read_one(connection, id))
    }

    /// Decides about a finding. Needs the scope `publish` for its machine. Once it is accepted, fixed or invalid, later
    /// changes begin a new finding.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Forbidden`]; [`ServiceError::Invalid`] without a reason;
    /// [`ServiceError::Conflict`] if the finding has the state already; SQLite.
    pub fn decide_finding(
        &self,
        actor: &Actor,
        id: u64,
        triage: &Triage,
    ) -> Result<TrendFinding, ServiceError> {
        let found = self.read_finding(id)?;
        actor.require_scope(Scope::Publish, Some(&found.machine))?;
        let reason = triage.reason.trim();
        if reason.is_empty() {
            return Err(ServiceError::invalid("reason", "is empty; say why"));
        }
        if reason.len() > LONGEST_REASON {
            let problem = format!("has {} bytes; the most are {LONGEST_REASON}", reason.len());
            return Err(ServiceError::invalid("reason", problem));
        }
        let state = triage.state.to_string();
        self.database.write(|transaction| {
            let changed = transaction.execute(
                "UPDATE finding SET state = ?2 WHERE id = ?1 AND state <> ?2",
                params![id, state],
            )?;
            if changed == 0 {
                let problem = format!("finding {id} is {state} already");
                return Err(ServiceError::Conflict(problem));
            }
            transaction.execute(
                "INSERT INTO finding_note (finding, at, actor, state, reason) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id, now_milliseconds(), actor.name, state, reason],
            )?;
            let details = json!({"state": state, "reason": reason});
            let subject = format!("finding {id}");
            audit::record_action(
                transaction,
                &actor.name,
                "finding.decide",
                &subject,
                &details,
            )?;
            let event = match triage.state {
                FindingState::Open => Some(WebhookEvent::FindingOpened),
                FindingState::Acknowledged => None,
                FindingState::Accepted | FindingState::Fixed | FindingState::Invalid => {
                    Some(WebhookEvent::FindingClosed)
                }
            };
            if let Some(event) = event {
                tell_of_finding(transaction, event, id as i64)?;
            }
            read_one(transaction, id)
        })
    }
}

/// What both a finding and one in a list have.
const COLUMNS: &str =
    "finding.id, machine.name, epoch.library, cause, slower, finding.state, found_at";
const FROM: &str = "FROM finding JOIN epoch ON epoch.id = finding.epoch JOIN machine ON machine.id = epoch.machine";

fn read_one(connection: &Connection, id: u64) -> Result<TrendFinding, ServiceError> {
    let query = format!("SELECT {COLUMNS} {FROM} WHERE finding.id = ?1");
    // No row has an id that SQLite cannot hold.
    let id_of_row = i64::try_from(id).unwrap_or(i64::MAX);
    let found = connection
        .query_row(&query, [id_of_row], finding_from_row)
        .optional()?;
    let mut finding = found.ok_or_else(|| ServiceError::not_found("finding", id))?;
    add_parts(connection, &mut finding)?;
    Ok(finding)
}

/// A finding in a list; the eighth column is the number of its changes.
fn listed_from_row(row: &Row<'_>) -> rusqlite::Result<ListedFinding> {
    let TrendFinding {
        id,
        machine,
        library,
        cause,
        slower,
        state,
        found_at,
        ..
    } = finding_from_row(row)?;
    Ok(ListedFinding {
        id,
        machine,
        library,
        cause,
        slower,
        state,
        found_at,
        changes: row.get(7)?,
    })
}

/// A finding without its changes and notes.
fn finding_from_row(row: &Row<'_>) -> rusqlite::Result<TrendFinding> {
    Ok(TrendFinding {
        id: row.get(0)?,
        machine: row.get(1)?,
        library: row.get(2)?,
        cause: word_column(row, 3)?,
        slower: row.get(4)?,
        state: word_column(row, 5)?,
        found_at: to_timestamp(row.get(6)?)?,
        changes: Vec::new(),
        notes: Vec::new(),
    })
}

/// A change as it is stored, with the number of its epoch.
struct ReadChange {
    epoch: i64,
    found: FoundChange,
}

fn add_parts(connection: &Connection, finding: &mut TrendFinding) -> Result<(), ServiceError> {
    let changes = "SELECT series.id, machine.name, library, via, collective, nodes, ppn, bytes, operators, chosen, \
                   distribution, quantity, before, after, began_at, found_by, epoch FROM change \
                   JOIN series ON series.id = change.series JOIN machine ON machine.id = series.machine \
                   WHERE finding = ?1 ORDER BY change.id";
    let read = query_rows(connection, changes, [finding.id], |row| {
        let series = series_from_row(row)?;
        let found = FoundChange {
            series: series.id,
            name: series.describe(),
            quantity: word_column(row, 11)?,
            before: row.get(12)?,
            after: row.get(13)?,
            began_at: to_timestamp(row.get(14)?)?,
            found_by: row.get(15)?,
            control: None,
        };
        Ok(ReadChange {
            epoch: row.get(16)?,
            found,
        })
    })?;
    for ReadChange { epoch, mut found } in read {
        // The default's time has no other choice to be compared with.
        if found.quantity == TrendQuantity::Ratio {
            let change = ControlledChange {
                series: found.series,
                epoch,
                began_at: found.began_at.as_millisecond(),
            };
            found.control = find_control(connection, &change)?;
        }
        finding.changes.push(found);
    }
    let notes =
        "SELECT at, actor, state, reason FROM finding_note WHERE finding = ?1 ORDER BY id DESC";
    finding.notes = query_rows(connection, notes, [finding.id], |row| {
        Ok(FindingNote {
            at: to_timestamp(row.get(0)?)?,
            actor: row.get(1)?,
            state: word_column(row, 2)?,
            reason: row.get(3)?,
        })
    })?;
    Ok(())
}
