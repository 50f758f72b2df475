//! Tasks that run as jobs of a batch system. Short-lived children collect the measurements of the jobs and submit the
//! next job. One child at a time queries the scheduler, over all tasks, and at most every two seconds.

use std::thread::Scope;
use std::time::{Duration, Instant};

use answers::{JobStateName, PrintedEvent, SubmittedJob, SubmittedLaunch, TuningEvent};
use rusqlite::params;
use serde::Deserialize;

use super::child::ChildExit;
use super::meter::count_named_nodes;
use super::orders::Order;
use super::plan::{TaskPlan, WaitingTask};
use super::settle::{MOST_FAILURES, RETRIES, is_transient};
use super::whole::StartFailure;
use crate::database::lock_ignoring_poison;
use crate::{Notice, Service, ServiceError, TaskId};

/// The least time between two steps, of any tasks.
const LEAST: Duration = Duration::from_secs(2);
/// The longest time between two steps of a task, which is reached if its state does not change.
const MOST: Duration = Duration::from_secs(60);

/// The state of a task that runs in steps.
#[derive(Debug)]
pub(super) struct Stepping {
    due: Instant,
    pause: Duration,
    /// What the last step reported.
    reported: Option<JobReport>,
    last: Instant,
    failures: u32,
    is_cancelling: bool,
}

/// What a step reports of its job.
#[derive(Clone, Debug, PartialEq)]
struct JobReport {
    job: SubmittedJob,
    /// The number of measurements that are stored.
    done: u64,
}

impl JobReport {
    /// What a child that ended well reports of a job that continues; `None` if nothing was left to submit.
    fn from_exit(ended: &Result<ChildExit, StartFailure>) -> Option<Self> {
        let Ok(ChildExit {
            code: Some(0),
            outcome: Some(outcome),
            ..
        }) = ended
        else {
            return None;
        };
        let submitted = SubmittedLaunch::deserialize(outcome).ok()?;
        Some(Self {
            job: submitted.job?,
            done: submitted.progress.done,
        })
    }

    /// The event that a child which waits for the job would print; `None` if it would print none.
    fn to_event(&self) -> Option<TuningEvent> {
        let SubmittedJob {
            launch, id, state, ..
        } = &self.job;
        match state.name {
            JobStateName::Queued => Some(TuningEvent::Queued {
                number: *launch,
                id: id.clone(),
                reason: state.reason.clone(),
            }),
            JobStateName::Running => Some(TuningEvent::Running {
                number: *launch,
                id: id.clone(),
                nodes: state.nodes.clone(),
            }),
            _ => None,
        }
    }

    /// What the job does, as the reason of its task.
    fn describe(&self) -> String {
        let SubmittedJob { id, state, .. } = &self.job;
        if state.name == JobStateName::Running {
            return format!("job {id} runs; measurements stored: {}", self.done);
        }
        let why = state.reason.as_ref().map(|why| format!(" ({why})"));
        let name = state.name.name();
        format!("job {id} is {name}{}", why.unwrap_or_default())
    }
}

impl Default for Stepping {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            due: now,
            pause: LEAST,
            reported: None,
            last: now,
            failures: 0,
            is_cancelling: false,
        }
    }
}

impl Stepping {
    /// Makes the next step due now.
    pub(super) fn make_due(&mut self) {
        self.due = Instant::now();
    }

    /// Whether a child is cancelling its jobs.
    pub(super) fn is_cancelling(&self) -> bool {
        self.is_cancelling
    }
}

impl Service {
    /// Starts the step that has been due for the longest time, unless a step is running.
    pub(super) fn start_next_step<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut state = self.runner.lock_state();
        let now = Instant::now();
        let least = self.runner.scale_time(LEAST);
        if state.is_stepping || state.last_step.is_some_and(|last| now - last < least) {
            return;
        }
        let due = state.active.iter_mut().filter_map(|(id, active)| {
            let stepping = active.stepping.as_mut()?;
            (stepping.due <= now).then_some((stepping.due, *id))
        });
        let Some((_, id)) = due.min() else { return };
        state.is_stepping = true;
        state.last_step = Some(now);
        drop(state);
        scope.spawn(move || {
            self.run_step(id);
            self.runner.lock_state().is_stepping = false;
            self.runner.wake();
        });
    }

    /// Calls `look` with the state of a task that runs in steps.
    fn with_stepping<T>(&self, id: TaskId, look: impl FnOnce(&mut Stepping) -> T) -> Option<T> {
        self.with_active(id, |active| active.stepping.as_mut().map(look))?
    }

    fn run_step(&self, id: TaskId) {
        let begun = self.with_active(id, |active| {
            let stepping = active.stepping.as_mut()?;
            stepping.is_cancelling = active.cancel;
            let order = if active.cancel {
                Order::Cancel
            } else {
                Order::Work
            };
            Some((active.task.clone(), active.plan.clone(), order))
        });
        let Some((task, plan, order)) = begun.flatten() else {
            return;
        };
        let ended = match order {
            Order::Cancel => self.run_child(&task, &plan, order),
            Order::Work => refuse_unreadable_job(self.run_child(&task, &plan, order)),
        };
        if self.runner.lock_state().is_stopping && !is_complete(&ended) {
            self.leave_to_jobs(id);
            return;
        }
        match order {
            Order::Cancel => self.after_cancel(id, &ended),
            Order::Work => self.after_step(&task, &plan, ended),
        }
    }

    /// Records how the step ended, and schedules the next one.
    fn after_step(
        &self,
        task: &WaitingTask,
        plan: &TaskPlan,
        ended: Result<ChildExit, StartFailure>,
    ) {
        let id = task.id;
        if let Some(reported) = JobReport::from_exit(&ended) {
            self.retry_until_stored(id, || self.note_job(id, plan, &reported));
            return;
        }
        // An interrupt from outside the service is retried like a failure of the environment.
        let is_interrupted = matches!(&ended, Ok(ended) if ended.code == Some(130));
        let is_transient = is_interrupted || is_transient(&ended);
        let failures = self.with_active(id, |active| {
            let stepping = active.stepping.as_mut()?;
            stepping.failures += 1;
            if active.cancel {
                stepping.make_due();
            }
            Some((active.cancel, stepping.failures))
        });
        match failures.flatten() {
            // The next step cancels the jobs.
            Some((true, _)) if !is_complete(&ended) => {}
            Some((false, failures)) if is_transient && failures < MOST_FAILURES => {
                let pause = self.runner.scale_time(RETRIES[failures as usize - 1]);
                self.with_stepping(id, |stepping| stepping.due = Instant::now() + pause);
                let reason = format!(
                    "{}; retried in {} s",
                    describe_failure(&ended),
                    pause.as_secs()
                );
                self.retry_until_stored(id, || self.note_reason(id, &reason));
            }
            _ => {
                self.account_unseen_job(id, plan, None);
                self.retry_until_stored(id, || self.settle_task(task, &ended, MOST_FAILURES));
                self.remove_active(id);
            }
        }
    }

    /// Records the job that a step has reported.
    fn note_job(
        &self,
        id: TaskId,
        plan: &TaskPlan,
        reported: &JobReport,
    ) -> Result<(), ServiceError> {
        self.account_unseen_job(id, plan, Some(&reported.job));
        let is_news = self.with_stepping(id, |stepping| {
            let is_news = stepping.reported.as_ref() != Some(reported);
            stepping.pause = if is_news {
                LEAST
            } else {
                (stepping.pause * 2).min(MOST)
            };
            stepping.due = Instant::now() + self.runner.scale_time(stepping.pause);
            stepping.last = Instant::now();
            stepping.failures = 0;
            stepping.reported = Some(reported.clone());
            is_news
        });
        let event = reported.to_event().map(PrintedEvent::from);
        let progress = event.map(|event| self.feed.note_progress(id, event));
        if is_news == Some(true) {
            if let Some(progress) = progress {
                self.feed.send(Notice::Progress { task: id, progress });
            }
            self.note_reason(id, &reported.describe())?;
        }
        self.account_for_task(id)
    }

    /// Sets the number of busy nodes. If a job ended before any step saw it running, adds the time since the last
    /// step for it.
    fn account_unseen_job(&self, id: TaskId, plan: &TaskPlan, job: Option<&SubmittedJob>) {
        self.with_active(id, |active| {
            let mut meter = lock_ignoring_poison(&active.meter);
            let is_same = |before: &SubmittedJob| job.is_some_and(|job| job.id == before.id);
            if let Some(stepping) = &active.stepping
                && let Some(reported) = &stepping.reported
                && !meter.is_running()
                && !is_same(&reported.job)
            {
                meter.add_seconds(plan.nodes * stepping.last.elapsed().as_secs_f64());
            }
            let runs = job.filter(|job| job.state.name == JobStateName::Running);
            meter.set_nodes(runs.map_or(0.0, |running_job| {
                count_named_nodes(&running_job.state.nodes).unwrap_or(plan.nodes)
            }));
        });
    }

    fn after_cancel(&self, id: TaskId, ended: &Result<ChildExit, StartFailure>) {
        let is_cancelled = matches!(ended, Ok(ChildExit { code: Some(0), .. }));
        let failures = self.with_stepping(id, |stepping| {
            stepping.failures += 1;
            let pause = RETRIES[RETRIES.len().min(stepping.failures as usize) - 1];
            stepping.due = Instant::now() + self.runner.scale_time(pause);
            stepping.failures
        });
        let reason = match (is_cancelled, failures) {
            (true, _) => "cancelled with its jobs; what they have measured is kept".to_owned(),
            (false, Some(failures)) if failures < MOST_FAILURES => {
                let reason = format!(
                    "is being cancelled: {}; retried later",
                    describe_failure(ended)
                );
                self.retry_until_stored(id, || self.note_reason(id, &reason));
                return;
            }
            (false, _) => format!(
                "cancelled, but its jobs could not be cancelled: {}; end them with `colltune cancel`",
                describe_failure(ended)
            ),
        };
        self.retry_until_stored(id, || self.settle_cancelled(id, &reason));
        self.remove_active(id);
    }

    /// Returns a task to the queue when the service stops, while its jobs continue.
    pub(super) fn leave_to_jobs(&self, id: TaskId) {
        let reason = "waits until the service runs again; its jobs continue";
        // If this fails, the next start does the same.
        let _ = self.account_for_task(id).and_then(|()| {
            self.database.execute(
                "UPDATE task SET state = 'waiting', reason = ?2 WHERE id = ?1 AND state = 'running'",
                params![id, reason],
            )
        });
        self.remove_active(id);
    }

    fn note_reason(&self, id: TaskId, reason: &str) -> Result<(), ServiceError> {
        self.database.execute(
            "UPDATE task SET reason = ?2 WHERE id = ?1 AND cancel_asked = 0",
            params![id, reason],
        )?;
        self.announce_tasks(&[id]);
        Ok(())
    }
}

/// Makes a failure of an outcome whose job cannot be read, as one of another version of colltune: the task must not be
/// settled while its job runs on. What has no job, or null, completes the task.
fn refuse_unreadable_job(
    ended: Result<ChildExit, StartFailure>,
) -> Result<ChildExit, StartFailure> {
    if let Ok(ChildExit {
        code: Some(0),
        outcome: Some(outcome),
        ..
    }) = &ended
        && outcome.get("job").is_some_and(|job| !job.is_null())
        && let Err(error) = SubmittedLaunch::deserialize(outcome)
    {
        let what = format!("colltune reported a job that cannot be read: {error}");
        return Err(StartFailure::Here(what));
    }
    ended
}

/// Whether the child has completed the task.
fn is_complete(ended: &Result<ChildExit, StartFailure>) -> bool {
    let has_outcome = matches!(
        ended,
        Ok(ChildExit {
            code: Some(0),
            outcome: Some(_),
            ..
        })
    );
    has_outcome && JobReport::from_exit(ended).is_none()
}

/// Describes what went wrong.
pub(super) fn describe_failure(ended: &Result<ChildExit, StartFailure>) -> String {
    match ended {
        Err(StartFailure::Task(what) | StartFailure::Here(what)) => what.clone(),
        Ok(ChildExit {
            error: Some(error), ..
        }) => error.clone(),
        Ok(ChildExit {
            code: Some(code), ..
        }) => format!("colltune ended with exit code {code}"),
        Ok(ChildExit {
            signal: Some(signal),
            ..
        }) => format!("signal {signal} ended colltune"),
        Ok(_) => "colltune ended in an unknown way".to_owned(),
    }
}
