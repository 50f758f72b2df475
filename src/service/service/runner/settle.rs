//! Records the result of a task.

use std::time::{Duration, Instant};

use answers::{MadeTable, ReportOutcome, SLOWER_MACHINE_CODE, TunedFiles};
use rusqlite::{Transaction, params};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Retry;
use super::agents;
use super::child::ChildExit;
use super::orders::REPORT;
use super::outcome::{PointCounts, describe_outcome, shorten_outcome};
use super::plan::WaitingTask;
use super::steps::describe_failure;
use super::whole::StartFailure;
use crate::database::{lock_ignoring_poison, machine_id, now_milliseconds, unreadable_column};
use crate::schedules::note_task_ends;
use crate::tasks::cancel;
use crate::trends::record_points;
use crate::webhooks::tell_webhooks;
use crate::{Service, ServiceError, TaskId, TaskKind, WebhookEvent};

/// The number of consecutive environment failures without progress after which a task fails.
pub(super) const MOST_FAILURES: u32 = 3;
/// The pauses after the first and the second failure.
pub(super) const RETRIES: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(300)];
/// The exit code of a command that the environment keeps from its answer; a check may have measured points all the same.
const UNDECIDED_CODE: i32 = 3;
/// The pause after an interrupt from outside the service.
const INTERRUPTED: Duration = Duration::from_secs(5);

/// A task that ends, and the claim of an agent whose result ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndingTask {
    id: TaskId,
    claim: Option<u64>,
}

impl From<TaskId> for EndingTask {
    fn from(id: TaskId) -> Self {
        Self { id, claim: None }
    }
}

impl From<&WaitingTask> for EndingTask {
    fn from(task: &WaitingTask) -> Self {
        Self {
            id: task.id,
            claim: task.claim,
        }
    }
}

/// The next step of a task after its child has ended.
enum Settlement {
    /// The task succeeded.
    Done(Value),
    /// The task failed permanently.
    Failed(String),
    /// The task is retried later.
    Again { reason: String, pause: Duration },
    /// The task was cancelled.
    Cancelled,
}

impl Service {
    /// Records the result of a task's last child; `failures` is the number of consecutive environment failures.
    ///
    /// # Errors
    /// If the result cannot be recorded; the call may be repeated.
    pub(super) fn settle_task(
        &self,
        task: &WaitingTask,
        ended: &Result<ChildExit, StartFailure>,
        failures: u32,
    ) -> Result<(), ServiceError> {
        let id = task.id;
        self.account_for_task(id)?;
        let code = ended.as_ref().ok().and_then(|ended| ended.code);
        let is_cancelled: bool = self.database.read(|connection| {
            let asked = "SELECT cancel_asked FROM task WHERE id = ?1";
            Ok(connection.query_row(asked, [id], |row| row.get(0))?)
        })?;
        match self.decide_settlement(task, ended, failures, is_cancelled) {
            Settlement::Done(outcome) => self.settle_done(task, code, outcome)?,
            Settlement::Failed(reason) => {
                // What a check has measured is a point of its trend, although the check could not decide.
                let measured = ended.as_ref().ok().and_then(|ended| ended.outcome.as_ref());
                self.settle_failed(task, code, &reason, measured)?;
            }
            Settlement::Cancelled => {
                self.settle_cancelled(id, "cancelled; what was measured is kept")?;
            }
            Settlement::Again { reason, pause } => self.settle_again(id, code, &reason, pause)?,
        }
        Ok(())
    }

    fn decide_settlement(
        &self,
        task: &WaitingTask,
        ended: &Result<ChildExit, StartFailure>,
        failures: u32,
        is_cancelled: bool,
    ) -> Settlement {
        let answers = is_compared(task.kind);
        let outcome = match ended {
            Ok(ended) => ended.outcome.clone(),
            Err(_) => None,
        };
        let code = ended.as_ref().ok().and_then(|ended| ended.code);
        match (code, outcome) {
            (Some(0), _) if task.kind == TaskKind::Report => {
                let report = self.task_folder(task.id).join(REPORT);
                let report = report.to_string_lossy().into_owned();
                return Settlement::Done(json!(ReportOutcome { report }));
            }
            (Some(0), Some(outcome)) => return Settlement::Done(outcome),
            (Some(1 | SLOWER_MACHINE_CODE), Some(outcome)) if answers => {
                return Settlement::Done(outcome);
            }
            _ if is_cancelled => return Settlement::Cancelled,
            (Some(0 | 1), None) if code == Some(0) || answers => {
                return Settlement::Failed(
                    "colltune ended without an outcome; see the log".to_owned(),
                );
            }
            _ => {}
        }
        let is_stopping = self.runner.lock_state().is_stopping;
        let interrupted = |reason: &str| Settlement::Again {
            reason: reason.to_owned(),
            pause: INTERRUPTED,
        };
        match ended {
            _ if is_stopping => interrupted(
                "interrupted because the service stopped; continues from the stored measurements",
            ),
            Ok(ChildExit {
                code: Some(130), ..
            }) => interrupted("interrupted; continues from the stored measurements"),
            _ if !is_transient(ended) => Settlement::Failed(describe_failure(ended)),
            _ if failures >= MOST_FAILURES => Settlement::Failed(format!(
                "{} ({failures} times in a row)",
                describe_failure(ended)
            )),
            _ => Settlement::Again {
                reason: describe_failure(ended),
                pause: RETRIES[failures.max(1) as usize - 1],
            },
        }
    }

    /// Counts a failure of the environment, and returns the number of such failures since the last progress.
    pub(super) fn count_failure(&self, id: TaskId, ended: &Result<ChildExit, StartFailure>) -> u32 {
        let last = self.feed.last_progress(id);
        let progress = last.and_then(|event| event.progress());
        let done = progress.map_or(0, |progress| progress.done);
        let mut state = self.runner.lock_state();
        if !is_transient(ended) {
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
        let pause = self.runner.scale_time(pause);
        let later = now_milliseconds() + i64::try_from(pause.as_millis()).unwrap_or(0);
        self.database.execute(
            "UPDATE task SET state = 'waiting', reason = ?2, exit_code = ?3, not_before = ?4 WHERE id = ?1",
            params![id, reason, code, later],
        )?;
        let mut state = self.runner.lock_state();
        let due = Instant::now() + pause;
        let retry = state.retries.entry(id).or_insert(Retry {
            failures: 0,
            done: 0,
            due,
        });
        retry.due = due;
        drop(state);
        self.announce_tasks(&[id]);
        Ok(())
    }

    pub(super) fn settle_cancelled(
        &self,
        ending: impl Into<EndingTask>,
        reason: &str,
    ) -> Result<(), ServiceError> {
        let ending: EndingTask = ending.into();
        self.account_for_task(ending.id)?;
        self.finish_task(ending, |transaction| {
            cancel::mark_cancelled(transaction, ending.id, reason)
        })
    }

    /// Ends a task that failed. What a check or validation has measured although it could not decide is kept.
    pub(super) fn settle_failed(
        &self,
        task: &WaitingTask,
        code: Option<i32>,
        reason: &str,
        outcome: Option<&Value>,
    ) -> Result<(), ServiceError> {
        let is_undecided = code == Some(UNDECIDED_CODE) && is_compared(task.kind);
        let undecided = outcome.filter(|_| is_undecided);
        let longest = self.configuration.longest_outcome;
        let stored = undecided.map(|measured| shorten_outcome(measured.clone(), longest));
        self.finish_task(task, |transaction| {
            if let Some(measured) = undecided {
                record_measured(transaction, task, measured)?;
            }
            end_with_followers(
                transaction,
                task.id,
                "failed",
                reason,
                code,
                stored.as_deref(),
            )
        })?;
        if undecided.is_some() {
            self.levels.forget_machine(&task.machine);
        }
        Ok(())
    }

    /// Stores the result and ends the task. The outcome of `tune` is stored first: if the service stops in between,
    /// the next start adds the table that it names without measuring again.
    fn settle_done(
        &self,
        task: &WaitingTask,
        code: Option<i32>,
        outcome: Value,
    ) -> Result<(), ServiceError> {
        let id = task.id;
        if task.kind == TaskKind::Tune {
            self.database.execute(
                "UPDATE task SET outcome = ?2, exit_code = 0 WHERE id = ?1",
                params![id, outcome.to_string()],
            )?;
            return self.settle_tuned(task, outcome);
        }
        self.settle_answered(task, code, &outcome)
    }

    /// Stores the answer of a check, validation or report, and ends the task.
    pub(super) fn settle_answered(
        &self,
        task: &WaitingTask,
        code: Option<i32>,
        outcome: &Value,
    ) -> Result<(), ServiceError> {
        let id = task.id;
        let reason = describe_outcome(task.kind, outcome);
        self.finish_task(task, |transaction| {
            // Only `validate` counts for the gates; `check` compares a table with its own recorded times.
            if let (TaskKind::Validate, Some(digest)) = (task.kind, &task.digest) {
                let machine = machine_id(transaction, &task.machine)?;
                let counts = PointCounts::from_outcome(task.kind, outcome);
                transaction.execute(
                    "INSERT INTO validation (machine, digest, task, at, slower, faster, points, details) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    params![
                        machine,
                        digest.as_str(),
                        id,
                        now_milliseconds(),
                        counts.slower,
                        counts.faster,
                        counts.all,
                        outcome.to_string()
                    ],
                )?;
            }
            record_measured(transaction, task, outcome)?;
            let stored = shorten_outcome(outcome.clone(), self.configuration.longest_outcome);
            end_with_followers(transaction, id, "done", &reason, code, Some(&stored))
        })?;
        if is_compared(task.kind) {
            self.levels.forget_machine(&task.machine);
        }
        Ok(())
    }

    /// Continues after a service that stopped between the two steps of [`Service::settle_done`].
    pub(super) fn settle_stored(
        &self,
        task: &WaitingTask,
        outcome: &str,
    ) -> Result<(), ServiceError> {
        let outcome = serde_json::from_str(outcome).map_err(unreadable_column)?;
        self.settle_tuned(task, outcome)
    }

    fn settle_tuned(&self, task: &WaitingTask, outcome: Value) -> Result<(), ServiceError> {
        let table = TunedFiles::deserialize(&outcome).unwrap_or_default().table;
        if table.as_os_str().is_empty() {
            return self.settle_failed(task, Some(0), "the outcome names no table", None);
        }
        let path = self.configuration.folder.join(table);
        let text = files::read_text(&path).map_err(ServiceError::on_file("read", &path));
        self.settle_with_table(task, outcome, text)
    }

    /// Adds the table that a task has made, and ends the task.
    pub(super) fn settle_with_table(
        &self,
        task: &WaitingTask,
        mut outcome: Value,
        text: Result<String, ServiceError>,
    ) -> Result<(), ServiceError> {
        let id = task.id;
        let taken =
            text.and_then(|text| self.add_task_table(id, &task.machine, task.campaign, &text));
        let digest = match taken {
            Ok(digest) => digest,
            // The caller retries, as the task is not at fault.
            Err(error @ ServiceError::Database(_)) => return Err(error),
            Err(error) if error.is_disk_fault() => return Err(error),
            Err(error) => {
                let reason = format!("its table cannot be added: {error}");
                return self.settle_failed(task, Some(0), &reason, None);
            }
        };
        MadeTable { digest }.add_to(&mut outcome);
        let reason = describe_outcome(task.kind, &outcome);
        let outcome = shorten_outcome(outcome, self.configuration.longest_outcome);
        self.finish_task(task, |transaction| {
            end_with_followers(transaction, id, "done", &reason, Some(0), Some(&outcome))
        })
    }

    /// Stores the node-seconds of all running tasks.
    pub(super) fn account_for_all(&self) -> Result<(), ServiceError> {
        let active: Vec<TaskId> = self.runner.lock_state().active.keys().copied().collect();
        active
            .into_iter()
            .try_for_each(|id| self.account_for_task(id))
    }

    pub(super) fn account_for_task(&self, id: TaskId) -> Result<(), ServiceError> {
        let taken = self.with_active(id, |active| {
            lock_ignoring_poison(&active.meter).take_seconds()
        });
        let Some(seconds) = taken.filter(|seconds| *seconds > 0.0) else {
            return Ok(());
        };
        let written = self.database.execute(
            "UPDATE task SET node_seconds = node_seconds + ?2 WHERE id = ?1",
            params![id, seconds],
        );
        if written.is_err() {
            self.with_active(id, |active| {
                lock_ignoring_poison(&active.meter).add_seconds(seconds)
            });
        }
        written.map(drop)
    }

    /// Runs the transaction that ends a task and returns all tasks that it changes; then announces these.
    fn finish_task(
        &self,
        ending: impl Into<EndingTask>,
        end: impl FnOnce(&Transaction<'_>) -> Result<Vec<TaskId>, ServiceError>,
    ) -> Result<(), ServiceError> {
        let EndingTask { id, claim } = ending.into();
        let changed = self.database.write(|transaction| {
            let changed = end(transaction)?;
            if let Some(fence) = claim {
                agents::end_claim(transaction, fence, true)?;
            }
            Ok(changed)
        })?;
        let mut state = self.runner.lock_state();
        state.retries.remove(&id);
        state.plans.remove(&id);
        drop(state);
        self.announce_tasks(&changed);
        Ok(())
    }

    /// Puts the tasks that were running when an earlier service stopped back into the queue; called at start. Those that
    /// agents carry out go on.
    pub(crate) fn requeue_interrupted(&self) -> Result<(), ServiceError> {
        let with_agents = self.configuration.machines.iter();
        let with_agents = with_agents.filter(|machine| machine.has_agent);
        let names: Vec<&str> = with_agents.map(|machine| &*machine.name).collect();
        let names = json!(names).to_string();
        self.database.write(|transaction| {
            transaction.execute(
                "UPDATE task SET state = 'waiting', \
                 reason = 'the service was restarted; continues from the stored measurements' WHERE state = 'running' \
                 AND NOT (EXISTS (SELECT 1 FROM claim WHERE claim.task = task.id AND counts IS NULL) AND machine IN \
                 (SELECT id FROM machine WHERE name IN (SELECT value FROM json_each(?1))))",
                [names],
            )?;
            // The system clock may have been set since these times were stored.
            transaction.execute("UPDATE task SET not_before = NULL WHERE state = 'waiting'", [])?;
            Ok(())
        })
    }
}

/// Whether a task measures the choices of a table beside the library's default.
fn is_compared(kind: TaskKind) -> bool {
    matches!(kind, TaskKind::Validate | TaskKind::Check)
}

/// Adds what a check or validation has measured to the trends.
fn record_measured(
    transaction: &Transaction<'_>,
    task: &WaitingTask,
    outcome: &Value,
) -> Result<(), ServiceError> {
    if !is_compared(task.kind) {
        return Ok(());
    }
    let machine = machine_id(transaction, &task.machine)?;
    record_points(transaction, machine, task.id, outcome)
}

/// Whether the environment caused the failure, so that another attempt may succeed.
pub(super) fn is_transient(ended: &Result<ChildExit, StartFailure>) -> bool {
    match ended {
        Ok(ended) => matches!(ended.code, None | Some(UNDECIDED_CODE)),
        Err(StartFailure::Here(_)) => true,
        Err(StartFailure::Task(_)) => false,
    }
}

/// Tells webhooks of a task that failed.
fn tell_of_failure(
    transaction: &Transaction<'_>,
    id: TaskId,
    reason: &str,
) -> Result<(), ServiceError> {
    let query = "SELECT machine.name, kind, campaign.path, task.actor, task.schedule FROM task \
                 JOIN machine ON machine.id = task.machine LEFT JOIN campaign ON campaign.id = task.campaign \
                 WHERE task.id = ?1";
    let (machine, data) = transaction.query_row(query, [id], |row| {
        let (kind, actor): (String, String) = (row.get(1)?, row.get(3)?);
        let (campaign, schedule): (Option<String>, Option<String>) = (row.get(2)?, row.get(4)?);
        let machine: String = row.get(0)?;
        let data = json!({
            "task": id, "kind": kind, "campaign": campaign, "actor": actor, "schedule": schedule, "reason": reason,
        });
        Ok((machine, data))
    })?;
    tell_webhooks(transaction, WebhookEvent::TaskFailed, &machine, &data)
}

/// Ends a task, and the tasks that wait for its result. Returns all of them.
fn end_with_followers(
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
        params![id, state, reason, code, outcome, now_milliseconds()],
    )?;
    let mut statement = transaction.prepare_cached(
        "UPDATE task SET state = ?2, reason = ?3, exit_code = ?4, outcome = ?5, ended_at = ?6 \
         WHERE follows = ?1 AND state = 'waiting' RETURNING id",
    )?;
    let reason_of_followers = format!("as task {id}: {reason}");
    let followers = statement.query_map(
        params![
            id,
            state,
            reason_of_followers,
            code,
            outcome,
            now_milliseconds()
        ],
        |row| row.get(0),
    )?;
    let mut changed = vec![id];
    changed.extend(followers.collect::<Result<Vec<TaskId>, _>>()?);
    note_task_ends(transaction, &changed, state, reason)?;
    if state == "failed" {
        tell_of_failure(transaction, id, reason)?;
    }
    Ok(changed)
}
