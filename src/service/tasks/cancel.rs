//! Taking a task out of the queue.

use rusqlite::{Transaction, params};
use serde_json::json;

use super::fetch;
use crate::database::now;
use crate::{
    Actor, Notice, Scope, Service, ServiceError, Task, TaskId, TaskKind, TaskState, audit,
};

impl Service {
    /// Asks a task to end. A waiting one is cancelled at once, unless a job of it may wait or run; a running one is
    /// interrupted, what it has measured is kept, and its jobs are cancelled. Tasks that wait for its result go on
    /// without it. Cancelling twice is no error.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::NotFound`]; [`ServiceError::Conflict`] if it has ended otherwise.
    pub fn cancel(&self, actor: &Actor, id: TaskId) -> Result<Task, ServiceError> {
        let (task, changed) = self.database.write(|transaction| {
            let task = fetch(transaction, id)?;
            actor.require(Scope::Submit, task.request.machine.as_deref())?;
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
                    changed.extend(end(transaction, id, "cancelled before it began")?);
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
            audit::record(transaction, &actor.name, "task.cancel", &subject, &json!({}))?;
            Ok((fetch(transaction, id)?, changed))
        })?;
        self.tell_tasks(&changed);
        self.runner.ask_to_end(id);
        Ok(task)
    }

    /// Tells the feed how tasks stand now.
    pub(crate) fn tell_tasks(&self, ids: &[TaskId]) {
        for id in ids {
            // What is shown of a task is read again in any case.
            if let Ok(task) = self.task(*id) {
                let task = Box::new(task);
                self.feed.tell(Notice::Task { task });
            }
        }
    }
}

/// Whether it has begun, and may have left a job in a batch system.
fn may_have_job(task: &Task) -> bool {
    task.request.kind == TaskKind::Tune && task.attempts > 0
}

/// Marks a task as cancelled. Of those that wait for its result the first one takes its place; all that changed.
///
/// # Errors
/// SQLite.
pub(crate) fn end(
    transaction: &Transaction<'_>,
    id: TaskId,
    reason: &str,
) -> Result<Vec<TaskId>, ServiceError> {
    transaction.execute(
        "UPDATE task SET state = 'cancelled', reason = ?2, ended_at = ?3, not_before = NULL WHERE id = ?1",
        params![id, reason, now()],
    )?;
    let mut statement = transaction.prepare_cached(
        "SELECT id FROM task WHERE follows = ?1 AND state = 'waiting' ORDER BY id",
    )?;
    let followers = statement.query_map([id], |row| row.get(0))?;
    let followers: Vec<TaskId> = followers.collect::<Result<_, _>>()?;
    if let Some((first, others)) = followers.split_first() {
        transaction.execute(
            "UPDATE task SET follows = NULL, reason = ?2 WHERE id = ?1",
            params![first, crate::runner::ITS_TURN],
        )?;
        for other in others {
            let reason = format!("waits for task {first}, which does the same");
            transaction.execute(
                "UPDATE task SET follows = ?2, reason = ?3 WHERE id = ?1",
                params![other, first, reason],
            )?;
        }
    }
    let mut changed = vec![id];
    changed.extend(followers);
    Ok(changed)
}
