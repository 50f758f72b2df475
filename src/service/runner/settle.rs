//! What came of a task, written down once.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use rusqlite::{Transaction, params};
use serde_json::{Value, json};

use super::Retry;
use super::child::Ended;
use super::orders::REPORT;
use super::outcome::{counts, sentence, shortened};
use super::plan::Waiting;
use super::steps::described;
use super::whole::Failure;
use crate::database::{machine_id, now, unreadable};
use crate::tasks::cancel;
use crate::{Service, ServiceError, TaskId, TaskKind};

/// A task fails after this many failures of the environment in a row without any progress.
pub(super) const MOST_FAILURES: u32 = 3;
/// How long a task waits after the first failure, and after the second.
pub(super) const RETRIES: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(300)];
/// How long it waits after an interrupt that was not ours.
const INTERRUPTED: Duration = Duration::from_secs(5);

/// How a task goes on.
enum Turn {
    /// The task ended well.
    Done(Value),
    /// The task failed for good.
    Failed(String),
    /// The task goes on later.
    Again { reason: String, pause: Duration },
    /// The task was cancelled.
    Cancelled,
}

impl Service {
    /// Writes down what came of a task's last child; `failures` counts those of the environment in a row.
    ///
    /// # Errors
    /// What keeps this from being written; the same may be tried again.
    pub(super) fn settle(
        &self,
        task: &Waiting,
        ended: &Result<Ended, Failure>,
        failures: u32,
    ) -> Result<(), ServiceError> {
        let id = task.id;
        self.account_for(id)?;
        let code = ended.as_ref().ok().and_then(|ended| ended.code);
        let is_cancelled: bool = self.database.read(|connection| {
            let asked = "SELECT cancel_asked FROM task WHERE id = ?1";
            Ok(connection.query_row(asked, [id], |row| row.get(0))?)
        })?;
        match self.turn(task, ended, failures, is_cancelled) {
            Turn::Done(outcome) => self.settle_done(task, code, outcome)?,
            Turn::Failed(reason) => self.settle_failed(id, code, &reason)?,
            Turn::Cancelled => {
                self.settle_cancelled(id, "cancelled; what was measured is kept")?;
            }
            Turn::Again { reason, pause } => self.settle_again(id, code, &reason, pause)?,
        }
        Ok(())
    }

    fn turn(
        &self,
        task: &Waiting,
        ended: &Result<Ended, Failure>,
        failures: u32,
        is_cancelled: bool,
    ) -> Turn {
        let answers = matches!(task.kind, TaskKind::Validate | TaskKind::Check);
        let outcome = match ended {
            Ok(ended) => ended.outcome.clone(),
            Err(_) => None,
        };
        let code = ended.as_ref().ok().and_then(|ended| ended.code);
        match (code, outcome) {
            (Some(0), _) if task.kind == TaskKind::Report => {
                let report = self.task_folder(task.id).join(REPORT);
                return Turn::Done(json!({"report": report.to_string_lossy()}));
            }
            (Some(0), Some(outcome)) => return Turn::Done(outcome),
            (Some(1), Some(outcome)) if answers => return Turn::Done(outcome),
            _ if is_cancelled => return Turn::Cancelled,
            (Some(0 | 1), None) if code == Some(0) || answers => {
                return Turn::Failed("colltune ended without an outcome; see the log".to_owned());
            }
            _ => {}
        }
        let is_stopping = self.runner.state().is_stopping;
        let interrupted = |reason: &str| Turn::Again {
            reason: reason.to_owned(),
            pause: INTERRUPTED,
        };
        match ended {
            _ if is_stopping => {
                interrupted("was interrupted as the service ended; it goes on from what is stored")
            }
            Ok(Ended {
                code: Some(130), ..
            }) => interrupted("was interrupted; it goes on from what is stored"),
            _ if !is_trouble(ended) => Turn::Failed(described(ended)),
            _ if failures >= MOST_FAILURES => {
                Turn::Failed(format!("{} ({failures} times in a row)", described(ended)))
            }
            _ => Turn::Again {
                reason: described(ended),
                pause: RETRIES[failures.max(1) as usize - 1],
            },
        }
    }

    /// Counts a failure of the environment; those in a row are those without progress between them.
    pub(super) fn count_failure(&self, id: TaskId, ended: &Result<Ended, Failure>) -> u32 {
        let progress = self.feed.progress(id);
        let done = progress.and_then(|event| event["progress"]["done"].as_u64());
        let done = done.unwrap_or(0);
        let mut state = self.runner.state();
        if !is_trouble(ended) {
            return 0;
        }
        let retry = state.retries.entry(id).or_insert(Retry {
            failures: 0,
            done,
            due: Instant::now(),
        });
        if retry.done < done {
            retry.failures = 0;
            retry.done = done;
        }
        retry.failures += 1;
        retry.failures
    }

    fn settle_again(
        &self,
        id: TaskId,
        code: Option<i32>,
        reason: &str,
        pause: Duration,
    ) -> Result<(), ServiceError> {
        let pause = self.runner.scaled(pause);
        let later = now() + i64::try_from(pause.as_millis()).unwrap_or(0);
        self.database.write(|transaction| {
            transaction.execute(
                "UPDATE task SET state = 'waiting', reason = ?2, exit_code = ?3, not_before = ?4 WHERE id = ?1",
                params![id, reason, code, later],
            )?;
            Ok(())
        })?;
        let mut state = self.runner.state();
        let due = Instant::now() + pause;
        let retry = state.retries.entry(id).or_insert(Retry {
            failures: 0,
            done: 0,
            due,
        });
        retry.due = due;
        drop(state);
        self.tell_tasks(&[id]);
        Ok(())
    }

    pub(super) fn settle_cancelled(&self, id: TaskId, reason: &str) -> Result<(), ServiceError> {
        self.account_for(id)?;
        let changed = self
            .database
            .write(|transaction| cancel::end(transaction, id, reason))?;
        self.forget(id);
        self.tell_tasks(&changed);
        Ok(())
    }

    fn settle_failed(
        &self,
        id: TaskId,
        code: Option<i32>,
        reason: &str,
    ) -> Result<(), ServiceError> {
        let changed = self
            .database
            .write(|transaction| end(transaction, id, "failed", reason, code, None))?;
        self.forget(id);
        self.tell_tasks(&changed);
        Ok(())
    }

    /// Takes the result in, and ends the task with it. The outcome is written down first: whatever comes between, the
    /// next start takes in what it names, and measures nothing again.
    fn settle_done(
        &self,
        task: &Waiting,
        code: Option<i32>,
        outcome: Value,
    ) -> Result<(), ServiceError> {
        let id = task.id;
        if task.kind == TaskKind::Tune {
            self.database.write(|transaction| {
                transaction.execute(
                    "UPDATE task SET outcome = ?2, exit_code = 0 WHERE id = ?1",
                    params![id, outcome.to_string()],
                )?;
                Ok(())
            })?;
            return self.settle_tuned(task, outcome);
        }
        let reason = sentence(task.kind, &outcome);
        let changed = self.database.write(|transaction| {
            // A check compares a table with what it promised: it is no validation, which gates ask for.
            let validated = task
                .digest
                .as_ref()
                .filter(|_| task.kind == TaskKind::Validate);
            if let Some(digest) = validated {
                let machine = machine_id(transaction, &task.machine)?;
                let (slower, faster, points) = counts(&outcome);
                transaction.execute(
                    "INSERT INTO validation (machine, digest, task, at, slower, faster, points, details) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    params![
                        machine,
                        digest.as_str(),
                        id,
                        now(),
                        slower,
                        faster,
                        points,
                        outcome.to_string()
                    ],
                )?;
            }
            let outcome = shortened(outcome.clone());
            end(transaction, id, "done", &reason, code, Some(&outcome))
        })?;
        self.forget(id);
        self.tell_tasks(&changed);
        Ok(())
    }

    /// Goes on after a service that ended between the two steps of [`Service::settle_done`].
    pub(super) fn settle_stored(&self, task: &Waiting, outcome: &str) -> Result<(), ServiceError> {
        let outcome = serde_json::from_str(outcome).map_err(unreadable)?;
        self.settle_tuned(task, outcome)
    }

    fn settle_tuned(&self, task: &Waiting, mut outcome: Value) -> Result<(), ServiceError> {
        let id = task.id;
        let Some(table) = outcome["table"].as_str() else {
            return self.settle_failed(id, Some(0), "the outcome names no table");
        };
        let path = self.configuration.folder.join(table);
        let taken = files::read_text(&path)
            .map_err(ServiceError::file("read", &path))
            .and_then(|text| self.take_in_of_task(id, &task.machine, task.campaign, &text));
        let digest = match taken {
            Ok(digest) => digest,
            // Tried again: nothing is wrong with the task.
            Err(error @ ServiceError::Database(_)) => return Err(error),
            Err(error) => {
                let reason = format!("its table cannot be taken in: {error}");
                return self.settle_failed(id, Some(0), &reason);
            }
        };
        outcome["digest"] = json!(digest);
        let reason = sentence(task.kind, &outcome);
        let outcome = shortened(outcome);
        let changed = self
            .database
            .write(|transaction| end(transaction, id, "done", &reason, Some(0), Some(&outcome)))?;
        self.forget(id);
        self.tell_tasks(&changed);
        Ok(())
    }

    /// Writes down the node-seconds of all that runs.
    pub(super) fn account(&self) -> Result<(), ServiceError> {
        let active: Vec<TaskId> = self.runner.state().active.keys().copied().collect();
        active.into_iter().try_for_each(|id| self.account_for(id))
    }

    pub(super) fn account_for(&self, id: TaskId) -> Result<(), ServiceError> {
        let taken = self.active(id, |active| {
            let mut meter = active.meter.lock().unwrap_or_else(PoisonError::into_inner);
            meter.take()
        });
        let Some(seconds) = taken.filter(|seconds| *seconds > 0.0) else {
            return Ok(());
        };
        let written = self.database.write(|transaction| {
            transaction.execute(
                "UPDATE task SET node_seconds = node_seconds + ?2 WHERE id = ?1",
                params![id, seconds],
            )?;
            Ok(())
        });
        if written.is_err() {
            self.active(id, |active| {
                let mut meter = active.meter.lock().unwrap_or_else(PoisonError::into_inner);
                meter.add(seconds);
            });
        }
        written
    }

    fn forget(&self, id: TaskId) {
        let mut state = self.runner.state();
        state.retries.remove(&id);
        state.plans.remove(&id);
    }

    /// Lets tasks wait again that ran when an earlier service ended, at start.
    ///
    /// # Errors
    /// SQLite.
    pub(crate) fn requeue_interrupted(&self) -> Result<(), ServiceError> {
        self.database.write(|transaction| {
            transaction.execute(
                "UPDATE task SET state = 'waiting', \
                 reason = 'the service was started again; it goes on from what is stored' WHERE state = 'running'",
                [],
            )?;
            // Times of this clock may be from before it was set.
            transaction.execute("UPDATE task SET not_before = NULL WHERE state = 'waiting'", [])?;
            Ok(())
        })
    }
}

/// Whether the environment was at fault: what failed may go well later.
pub(super) fn is_trouble(ended: &Result<Ended, Failure>) -> bool {
    match ended {
        Ok(ended) => matches!(ended.code, None | Some(3)),
        Err(Failure::Here(_)) => true,
        Err(Failure::Task(_)) => false,
    }
}

/// Ends a task, and with it those that wait for its result; all of these.
fn end(
    transaction: &Transaction<'_>,
    id: TaskId,
    state: &str,
    reason: &str,
    code: Option<i32>,
    outcome: Option<&str>,
) -> Result<Vec<TaskId>, ServiceError> {
    transaction.execute(
        "UPDATE task SET state = ?2, reason = ?3, exit_code = ?4, outcome = ?5, ended_at = ?6, not_before = NULL \
         WHERE id = ?1",
        params![id, state, reason, code, outcome, now()],
    )?;
    let mut statement = transaction.prepare_cached(
        "UPDATE task SET state = ?2, reason = ?3, exit_code = ?4, outcome = ?5, ended_at = ?6 \
         WHERE follows = ?1 AND state = 'waiting' RETURNING id",
    )?;
    let reason = format!("as task {id}: {reason}");
    let followers = statement
        .query_map(params![id, state, reason, code, outcome, now()], |row| {
            row.get(0)
        })?;
    let mut changed = vec![id];
    changed.extend(followers.collect::<Result<Vec<TaskId>, _>>()?);
    Ok(changed)
}
