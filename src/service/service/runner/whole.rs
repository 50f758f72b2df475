//! Tasks that one child carries out completely.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use answers::{PrintedEvent, TuningEvent};

use super::child::{self, ChildExit};
use super::meter::Meter;
use super::orders::Order;
use super::plan::{RunsOn, TaskPlan, WaitingTask};
use super::{ActiveTask, ERROR_PAUSE, TICK};
use crate::database::lock_ignoring_poison;
use crate::{Notice, Service, ServiceError, TaskId};

/// The least time between two notices of stored measurements.
const NEWS: Duration = Duration::from_millis(500);

impl Service {
    /// Runs the child of a started task, and records its result.
    pub(super) fn carry_out_task(&self, id: TaskId) {
        let Some((task, plan)) =
            self.with_active(id, |active| (active.task.clone(), active.plan.clone()))
        else {
            return;
        };
        let ended = self.run_child(&task, &plan, Order::Work);
        let failures = self.count_failure(id, &ended);
        self.retry_until_stored(id, || self.settle_task(&task, &ended, failures));
        self.remove_active(id);
    }

    /// Runs a child of an active task to its end.
    pub(super) fn run_child(
        &self,
        task: &WaitingTask,
        plan: &TaskPlan,
        order: Order,
    ) -> Result<ChildExit, StartFailure> {
        let command = self
            .disk
            .note_refusal(self.prepare_command(task, plan, order))?;
        let Some((signals, meter)) = self.with_active(task.id, |active| {
            active.interrupted_at = None;
            (Arc::clone(&active.signals), Arc::clone(&active.meter))
        }) else {
            return Ok(ChildExit::default());
        };
        let log = self.task_folder(task.id).join("log");
        let on_event = self.event_handler(task.id, plan, meter);
        let ended = child::run_to_end(command, &signals, &log, &self.disk, on_event)?;
        Ok(ended)
    }

    /// Returns the handler of a child's events; it runs in a thread that may outlive the task.
    fn event_handler(
        &self,
        id: TaskId,
        plan: &TaskPlan,
        meter: Arc<Mutex<Meter>>,
    ) -> impl FnMut(PrintedEvent) + Send + 'static + use<> {
        let (feed, most) = (self.feed.clone(), plan.nodes);
        let counts = plan.runs_on == RunsOn::Batch && !plan.in_steps;
        let mut sent: Option<Instant> = None;
        move |event: PrintedEvent| {
            if counts {
                lock_ignoring_poison(&meter).update_from_event(&event, most);
            }
            let is_stored = matches!(event.known_event(), Some(TuningEvent::Stored { .. }));
            let progress = feed.note_progress(id, event);
            if is_stored && sent.is_some_and(|sent| sent.elapsed() < NEWS) {
                return;
            }
            sent = is_stored.then(Instant::now).or(sent);
            feed.send(Notice::Progress { task: id, progress });
        }
    }

    /// Calls `look` with a running task; `None` if the task does not run.
    pub(super) fn with_active<T>(
        &self,
        id: TaskId,
        look: impl FnOnce(&mut ActiveTask) -> T,
    ) -> Option<T> {
        self.runner.lock_state().active.get_mut(&id).map(look)
    }

    /// Removes a task from the running ones.
    pub(super) fn remove_active(&self, id: TaskId) {
        self.feed.forget_progress(id);
        let mut state = self.runner.lock_state();
        state.active.remove(&id);
        state.is_woken = true;
        drop(state);
        self.runner.news.notify_all();
    }

    /// Repeats a write until it succeeds or the service stops. If the service stops, the next start finds the task
    /// running, and carries it out again.
    pub(super) fn retry_until_stored(
        &self,
        id: TaskId,
        write: impl Fn() -> Result<(), ServiceError>,
    ) {
        let subject = format!("task {id}");
        while let Err(error) = write() {
            self.problems.note_transient(subject.clone(), &error);
            let end = Instant::now() + self.runner.scale_time(ERROR_PAUSE);
            while Instant::now() < end {
                if self.runner.lock_state().is_stopping {
                    return;
                }
                std::thread::sleep(self.runner.scale_time(TICK));
            }
        }
        self.problems.note_problem(subject, None);
    }
}

/// The reason why no child was started.
#[derive(Debug)]
pub(super) enum StartFailure {
    /// The task is at fault.
    Task(String),
    /// The environment is at fault; another attempt may succeed.
    Here(String),
}

impl From<ServiceError> for StartFailure {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::File { .. } | ServiceError::Database(_) => Self::Here(error.to_string()),
            _ => Self::Task(error.to_string()),
        }
    }
}

impl From<io::Error> for StartFailure {
    fn from(error: io::Error) -> Self {
        Self::Here(format!("colltune could not be started: {error}"))
    }
}
