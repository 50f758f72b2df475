//! What the ends of tasks mean for schedules: failures, and events that cause further tasks.

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::json;

use crate::database::now_milliseconds;
use crate::tasks::cancel::detach_followers_of_schedule;
use crate::webhooks::tell_webhooks;
use crate::{ServiceError, TaskId, WebhookEvent, audit};

/// The number of failures in a row after which a schedule pauses itself.
const MOST_FAILURES: u32 = 3;
/// The name of the service where it acts by itself.
pub(super) const OWN_NAME: &str = "service";
/// The event of a suspicion.
pub(super) const SUSPICION: &str = "the newest points of a trend suggest a change";
/// The most characters of a task's reason that a pause quotes.
const MOST_QUOTED: usize = 500;

/// Counts tasks that have ended as `failed` or `done` for their schedules. Cancelled tasks count for nothing.
pub(crate) fn note_task_ends(
    transaction: &Transaction<'_>,
    tasks: &[TaskId],
    state: &str,
    reason: &str,
) -> Result<(), ServiceError> {
    for task in tasks {
        let mut find = transaction.prepare_cached("SELECT schedule FROM task WHERE id = ?1")?;
        let schedule: Option<String> = find.query_row([task], |row| row.get(0))?;
        let Some(schedule) = schedule else { continue };
        if state == "failed" {
            let reason = format!("task {task} failed: {reason}");
            count_failure(transaction, &schedule, now_milliseconds(), &reason)?;
        } else {
            let forget = "UPDATE schedule SET failures = 0 WHERE name = ?1";
            transaction.execute(forget, [schedule])?;
        }
    }
    Ok(())
}

/// Counts a failure of a schedule, which pauses itself after the third one in a row.
pub(super) fn count_failure(
    transaction: &Transaction<'_>,
    name: &str,
    now: i64,
    reason: &str,
) -> Result<(), ServiceError> {
    let count = "UPDATE schedule SET failures = failures + 1 WHERE name = ?1 RETURNING failures, paused_at IS NULL";
    let counted: Option<(u32, bool)> = transaction
        .query_row(count, [name], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    // The schedule may have been removed.
    let Some((failures, is_active)) = counted else {
        return Ok(());
    };
    if failures < MOST_FAILURES || !is_active {
        return Ok(());
    }
    let reason = files::shortened(reason, MOST_QUOTED);
    let why = format!("{failures} failures in a row; the last: {reason}");
    let details = json!({ "reason": why });
    let subject = format!("schedule {name}");
    audit::record_action(transaction, OWN_NAME, "schedule.pause", &subject, &details)?;
    transaction.execute(
        "UPDATE schedule SET revision = ?2, paused_by = ?3, pause_reason = ?4, paused_at = ?5 WHERE name = ?1",
        params![name, transaction.last_insert_rowid(), OWN_NAME, why, now],
    )?;
    detach_followers_of_schedule(transaction, name)?;
    let find = "SELECT machine.name FROM schedule JOIN machine ON machine.id = schedule.machine WHERE schedule.name = ?1";
    let machine: String = transaction.query_row(find, [name], |row| row.get(0))?;
    let data = json!({"schedule": name, "reason": why});
    tell_webhooks(transaction, WebhookEvent::SchedulePaused, &machine, &data)
}

/// Tells the schedules of a machine that wait for it that a library, by its name without the version, was measured in
/// another epoch than before. The first epoch is no change.
pub(crate) fn mark_fingerprint_change(
    transaction: &Transaction<'_>,
    machine: i64,
    library: &str,
    epoch: i64,
) -> Result<(), ServiceError> {
    let find = "SELECT epoch FROM measured_epoch WHERE machine = ?1 AND library = ?2";
    let before: Option<i64> = transaction
        .query_row(find, params![machine, library], |row| row.get(0))
        .optional()?;
    if before == Some(epoch) {
        return Ok(());
    }
    transaction.execute(
        "INSERT INTO measured_epoch (machine, library, epoch) VALUES (?1, ?2, ?3) \
         ON CONFLICT (machine, library) DO UPDATE SET epoch = excluded.epoch",
        params![machine, library, epoch],
    )?;
    if before.is_some() {
        let event = format!("the fingerprint of {library} changed");
        mark_event(transaction, machine, "$.events.fingerprint", &event)?;
    }
    Ok(())
}

/// Tells the schedules of a machine that wait for it that newest points suggest a change.
pub(crate) fn mark_suspicion(
    transaction: &Transaction<'_>,
    machine: i64,
) -> Result<(), ServiceError> {
    mark_event(transaction, machine, "$.events.suspicion", SUSPICION)
}

/// The schedules of a machine that wait for an event, by its place in their definitions, get it, unless they are paused
/// or another one waits already.
fn mark_event(
    transaction: &Transaction<'_>,
    machine: i64,
    place: &str,
    event: &str,
) -> Result<(), ServiceError> {
    transaction.execute(
        "UPDATE schedule SET event = coalesce(event, ?3) \
         WHERE machine = ?1 AND paused_at IS NULL AND json_extract(definition, ?2)",
        params![machine, place, event],
    )?;
    Ok(())
}

/// Whether a schedule of a machine waits for suspicions.
pub(crate) fn wants_suspicions(
    transaction: &Transaction<'_>,
    machine: i64,
) -> Result<bool, ServiceError> {
    let find = "SELECT EXISTS (SELECT 1 FROM schedule WHERE machine = ?1 AND paused_at IS NULL \
                AND json_extract(definition, '$.events.suspicion'))";
    Ok(transaction.query_row(find, [machine], |row| row.get(0))?)
}
