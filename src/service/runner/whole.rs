//! Tasks that one child carries out from beginning to end.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::child::{self, Ended};
use super::meter::Meter;
use super::orders::Order;
use super::plan::{Plan, RunsOn, Waiting};
use super::{Active, TICK, TROUBLE};
use crate::{Notice, Service, ServiceError, TaskId};

/// How often listeners are told of measurements that were stored.
const NEWS: Duration = Duration::from_millis(500);

impl Service {
    /// Runs the child of a task that was begun, and writes down what came of it.
    pub(super) fn carry_out(&self, id: TaskId) {
        let Some((task, plan)) =
            self.active(id, |active| (active.task.clone(), active.plan.clone()))
        else {
            return;
        };
        let ended = self.run_child(&task, &plan, Order::Work);
        let failures = self.count_failure(id, &ended);
        self.insist(id, || self.settle(&task, &ended, failures));
        self.retire(id);
    }

    /// Runs a child of an active task to its end.
    pub(super) fn run_child(
        &self,
        task: &Waiting,
        plan: &Plan,
        order: Order,
    ) -> Result<Ended, Failure> {
        let command = self.command(task, plan, order)?;
        let Some((signals, meter)) = self.active(task.id, |active| {
            active.asked = None;
            (Arc::clone(&active.signals), Arc::clone(&active.meter))
        }) else {
            return Ok(Ended::default());
        };
        let log = self.task_folder(task.id).join("log");
        let hear = self.hear(task.id, plan, meter);
        let ended = child::run(command, &signals, &log, hear)?;
        Ok(ended)
    }

    /// Takes notice of a child's events, in a thread that may outlast all else.
    fn hear(
        &self,
        id: TaskId,
        plan: &Plan,
        meter: Arc<Mutex<Meter>>,
    ) -> impl FnMut(Value) + Send + 'static + use<> {
        let (feed, most) = (self.feed.clone(), plan.nodes);
        let counts = plan.runs_on == RunsOn::Batch && !plan.in_steps;
        let mut told: Option<Instant> = None;
        move |event| {
            if counts {
                let mut meter = meter.lock().unwrap_or_else(PoisonError::into_inner);
                meter.hear(&event, most);
            }
            let is_stored = event["event"] == "stored";
            let progress = feed.note_progress(id, event);
            if is_stored && told.is_some_and(|told| told.elapsed() < NEWS) {
                return;
            }
            told = is_stored.then(Instant::now).or(told);
            feed.tell(Notice::Progress { task: id, progress });
        }
    }

    /// Looks at a task that runs.
    pub(super) fn active<T>(&self, id: TaskId, look: impl FnOnce(&mut Active) -> T) -> Option<T> {
        self.runner.state().active.get_mut(&id).map(look)
    }

    /// The task does not run any more.
    pub(super) fn retire(&self, id: TaskId) {
        self.feed.forget_progress(id);
        let mut state = self.runner.state();
        state.active.remove(&id);
        state.is_woken = true;
        drop(state);
        self.runner.news.notify_all();
    }

    /// Writes something down of a task, again and again until it is written or the service ends: the next start finds the task
    /// running, and carries it out again.
    pub(super) fn insist(&self, id: TaskId, write: impl Fn() -> Result<(), ServiceError>) {
        let subject = format!("task {id}");
        while let Err(error) = write() {
            self.problems.note_trouble(subject.clone(), &error);
            let end = Instant::now() + self.runner.scaled(TROUBLE);
            while Instant::now() < end {
                if self.runner.state().is_stopping {
                    return;
                }
                std::thread::sleep(self.runner.scaled(TICK));
            }
        }
        self.problems.note(subject, None);
    }
}

/// Why there was no child.
#[derive(Debug)]
pub(super) enum Failure {
    /// Something is wrong with the task.
    Task(String),
    /// Something is wrong here, and may be right later.
    Here(String),
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::File { .. } | ServiceError::Database(_) => Self::Here(error.to_string()),
            _ => Self::Task(error.to_string()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Here(format!("colltune could not be started: {error}"))
    }
}
