//! Cancels tasks.

use rusqlite::{Transaction, params};
use serde_json::json;

use super::fetch_task;
use crate::database::{now_milliseconds, query_rows};
use crate::{
    Actor, Notice, Scope, Service, ServiceError, Task, TaskId, TaskKind, TaskState, audit,
};

impl Service {
    /// Requests that a task ends. A waiting task is cancelled at once, unless it may have a job in a batch system. A
    /// running one is interrupted, what it has measured is kept, and its jobs are cancelled. Tasks that wait for its
    /// result continue without it. Cancelling again is no error.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; [`ServiceError::NotFound`], also if the actor may not read about the task's machine;
    /// [`ServiceError::Conflict`] if the task is done or has failed.
    pub fn cancel_task(&self, actor: &Actor, id: TaskId) -> Result<Task, ServiceError> {
        let (task, changed) = self.database.write(|transaction| {
            let task = fetch_task(transaction, id)?;
            let machine = task.request.machine.as_deref();
            if !actor.has_scope(Scope::Submit, machine) && !self.may_read(actor, machine) {
                return Err(ServiceError::not_found("task", id));
            }
            actor.require_scope(Scope::Submit, machine)?;
            let mut changed = Vec::new();
            match task.state {
                TaskState::Cancelled => return Ok((task, changed)),
                TaskState::Done | TaskState::Failed => {
                    return Err(ServiceError::Conflict(format!(
                        "task {id} has ended: it is {}",
                        task.state
                    )));
                }
                TaskState::Waiting if !may_have_job(&task) => {
                    changed.extend(mark_cancelled(transaction, id, "cancelled before it began")?);
                }
                TaskState::Waiting | TaskState::Running => {
                    transaction.execute(
                        "UPDATE task SET cancel_asked = 1, reason = 'is being cancelled' WHERE id = ?1",
                        params![id],
                    )?;
                    changed.push(id);
                }
            }
            let subject = format!("task {id}");
            audit::record_action(transaction, &actor.name, "task.cancel", &subject, &json!({}))?;
            Ok((fetch_task(transaction, id)?, changed))
        })?;
        self.announce_tasks(&changed);
        self.runner.ask_to_end(id);
        Ok(task)
    }

    /// Whether an actor may read about a machine.
    fn may_read(&self, actor: &Actor, machine: Option<&str>) -> bool {
        self.configuration.open_reading || actor.has_scope(Scope::Read, machine)
    }

    /// Sends the current state of tasks to the feed.
    pub(crate) fn announce_tasks(&self, ids: &[TaskId]) {
        for id in ids {
            // A failed read is ignored: clients read tasks again anyway.
            if let Ok(task) = self.read_task(*id) {
                let task = Box::new(task);
                self.feed.send(Notice::Task { task });
            }
        }
    }
}

/// Whether the task has been started, and may have left a job in a batch system.
fn may_have_job(task: &Task) -> bool {
    task.request.kind == TaskKind::Tune && task.attempts > 0
}

/// Whether a row of tasks has not been started and may wait for long: for a window of its schedule, or while its schedule
/// is paused.
pub(super) const IS_HELD_BACK: &str = "(task.state = 'waiting' AND task.attempts = 0 AND EXISTS \
     (SELECT 1 FROM schedule WHERE schedule.name = task.schedule AND (schedule.paused_at IS NOT NULL \
     OR json_array_length(schedule.definition, '$.windows') > 0)))";

/// Marks a task as cancelled. The first of the tasks that wait for its result takes its place. Returns all changed
/// tasks.
pub(crate) fn mark_cancelled(
    transaction: &Transaction<'_>,
    id: TaskId,
    reason: &str,
) -> Result<Vec<TaskId>, ServiceError> {
    transaction.execute(
        "UPDATE task SET state = 'cancelled', reason = ?2, ended_at = ?3, not_before = NULL WHERE id = ?1",
        params![id, reason, now_milliseconds()],
    )?;
    let mut changed = vec![id];
    changed.extend(detach_followers(transaction, id)?);
    Ok(changed)
}

/// Lets the tasks that wait for the result of a task go on without it: the first of them that no schedule holds back
/// takes its place. Returns them.
fn detach_followers(
    transaction: &Transaction<'_>,
    id: TaskId,
) -> Result<Vec<TaskId>, ServiceError> {
    let mut statement = transaction.prepare_cached(&format!(
        "SELECT id FROM task WHERE follows = ?1 AND state = 'waiting' ORDER BY {IS_HELD_BACK}, id"
    ))?;
    let followers = statement.query_map([id], |row| row.get(0))?;
    let followers: Vec<TaskId> = followers.collect::<Result<_, _>>()?;
    if let Some((first, others)) = followers.split_first() {
        transaction.execute(
            "UPDATE task SET follows = NULL, reason = ?2 WHERE id = ?1",
            params![first, crate::runner::ITS_TURN],
        )?;
        for other in others {
            let waiting_reason = format!("waits for task {first}, which does the same");
            transaction.execute(
                "UPDATE task SET follows = ?2, reason = ?3 WHERE id = ?1",
                params![other, first, waiting_reason],
            )?;
        }
    }
    Ok(followers)
}

/// Lets the tasks that wait for tasks of a schedule go on without these, if the schedule now holds them back. Returns
/// them.
pub(crate) fn detach_followers_of_schedule(
    transaction: &Transaction<'_>,
    schedule: &str,
) -> Result<Vec<TaskId>, ServiceError> {
    let held = format!(
        "SELECT id FROM task WHERE schedule = ?1 AND state = 'waiting' AND follows IS NULL AND {IS_HELD_BACK}"
    );
    let held: Vec<TaskId> = query_rows(transaction, &held, [schedule], |row| row.get(0))?;
    let mut detached = Vec::new();
    for task in held {
        detached.extend(detach_followers(transaction, task)?);
    }
    Ok(detached)
}
