//! Carries out tasks as child processes.
//!
//! One thread chooses the next task and sends signals; it wakes up at least once a second. Each running task has a
//! thread that waits for its child, and two that read the child's pipes. A task that runs as jobs of a batch system
//! has a child only for short steps, each of which collects results and submits the next job. The threads of a task
//! lower their priority once its child has started; the choosing thread keeps its own, which children inherit.
//!
//! The tasks of a machine on another host are carried out by its agent (`agents`), which is a service of its own there.
//!
//! A task's state is written to the database before the action that it describes, and results are written in the
//! transaction that ends their task. So, whenever the service is killed, the next start finds each task waiting,
//! running, or ended with its result. A running task starts again, and the measurements in its store are kept.

mod agents;
mod child;
mod dispatch;
mod lines;
mod meter;
mod orders;
mod outcome;
mod plan;
mod settle;
mod steps;
mod whole;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::Scope;
use std::time::{Duration, Instant};

pub(crate) use self::plan::largest_node_count;

use self::child::ChildSignals;
use self::meter::Meter;
use self::plan::{TaskPlan, WaitingTask};
use self::steps::Stepping;
use crate::database::lock_ignoring_poison;
use crate::{Service, ServiceError, TaskId};

/// The reason of a task that could start at any time.
pub(crate) const ITS_TURN: &str = "waits for its turn";

/// The subject of the queue's problems.
const QUEUE: &str = "the queue";

/// The time that the runner waits for an event.
const TICK: Duration = Duration::from_secs(1);
/// The least time between two passes over the queue; one [`TICK`] while a task measures on this host.
const LEAST_PAUSE: Duration = Duration::from_millis(50);
/// The interval at which the queue is examined if nothing happens: a new month may have begun, or the time of a schedule
/// come.
const ROUND: Duration = Duration::from_secs(30);
/// The interval at which the node-seconds of running tasks are stored.
const ACCOUNTING: Duration = Duration::from_secs(60);
/// The interval at which the time that the service has run is stored; a kill loses at most this much of it.
const SERVED: Duration = Duration::from_secs(600);
/// The pause of the queue after a database error.
const ERROR_PAUSE: Duration = Duration::from_secs(10);
/// The time that a cancelled child may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(30);
/// The time that a child may take to end before it is killed, when the service stops.
const LAST_GRACE: Duration = Duration::from_secs(3);

/// The state that the threads of the queue share.
#[derive(Debug, Default)]
pub(crate) struct Runner {
    state: Mutex<QueueState>,
    news: Condvar,
    /// Locked while a claim of an agent is given, or what an agent reports is stored.
    claiming: Mutex<()>,
    /// The divisor of all waiting times in tests; 0 otherwise.
    speedup: AtomicU32,
}

#[derive(Debug, Default)]
struct QueueState {
    /// Whether something has happened since the queue was last examined.
    is_woken: bool,
    is_stopping: bool,
    /// Tasks that run.
    active: BTreeMap<TaskId, ActiveTask>,
    /// Tasks that are to be retried later.
    retries: HashMap<TaskId, Retry>,
    /// The plans of waiting tasks.
    plans: HashMap<TaskId, TaskPlan>,
    /// Whether a step is running.
    is_stepping: bool,
    last_step: Option<Instant>,
}

/// A task that runs.
#[derive(Debug)]
struct ActiveTask {
    task: WaitingTask,
    plan: TaskPlan,
    signals: Arc<ChildSignals>,
    meter: Arc<Mutex<Meter>>,
    /// Whether it is to be cancelled.
    cancel: bool,
    /// The time at which its child was interrupted.
    interrupted_at: Option<Instant>,
    /// The state of its steps, if it runs in steps.
    stepping: Option<Stepping>,
}

/// The time of a task's next attempt, and its failures since it last made progress.
#[derive(Clone, Copy, Debug)]
struct Retry {
    failures: u32,
    /// The number of its measurements at the first of these failures.
    done: u64,
    due: Instant,
}

impl Runner {
    /// Makes the runner examine the queue.
    pub(crate) fn wake(&self) {
        self.lock_state().is_woken = true;
        self.news.notify_all();
    }

    /// Requests that a task ends, if it runs.
    pub(crate) fn ask_to_end(&self, id: TaskId) {
        if let Some(active) = self.lock_state().active.get_mut(&id) {
            active.cancel = true;
            if let Some(stepping) = &mut active.stepping {
                stepping.make_due();
            }
        }
        self.wake();
    }

    fn lock_state(&self) -> MutexGuard<'_, QueueState> {
        // The state is consistent after each statement, so a panic elsewhere does no harm.
        lock_ignoring_poison(&self.state)
    }

    pub(crate) fn scale_time(&self, time: Duration) -> Duration {
        time / self.speedup.load(Ordering::Relaxed).max(1)
    }

    /// Waits for an event, and then a little longer, to handle several events at once.
    fn wait_for_news(&self) {
        let state = self.lock_state();
        let is_woken = state.is_woken;
        let is_measuring = state.active.values().any(|active| active.plan.measures);
        let tick = self.scale_time(TICK);
        if is_woken {
            drop(state)
        } else {
            drop(self.news.wait_timeout(state, tick))
        }
        std::thread::sleep(if is_measuring {
            tick
        } else {
            self.scale_time(LEAST_PAUSE)
        });
    }
}

impl Service {
    /// Runs tasks until `stop` is set, which is noticed within a second. Then children that measure on this host are
    /// interrupted and their tasks wait for the next start; jobs of batch systems continue. A child that takes longer
    /// than three seconds to end is killed. After database errors the queue retries; [`Service::list_problems`] lists
    /// the errors.
    pub fn run_tasks(&self, stop: &AtomicBool) {
        self.runner.lock_state().is_stopping = false;
        std::thread::scope(|scope| {
            let (mut looked, mut accounted) = (None::<Instant>, Instant::now());
            let mut served = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                self.disk.look_for_space();
                if served.elapsed() > SERVED {
                    served = Instant::now();
                    // If this fails, tables are kept longer.
                    let _ = self.store_served();
                }
                let is_due = looked.is_none_or(|looked| looked.elapsed() > ROUND);
                if let Err(error) = self.run_round(scope, is_due, &mut looked, &mut accounted) {
                    self.problems.note_transient(QUEUE.to_owned(), &error);
                    let end = Instant::now() + self.runner.scale_time(ERROR_PAUSE);
                    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
                        std::thread::sleep(self.runner.scale_time(TICK));
                    }
                    looked = None;
                    continue;
                }
                self.runner.wait_for_news();
            }
            self.shut_down();
        });
    }

    /// Whether a task measures on this host now, so that other work should stay off its cores.
    pub fn is_measuring_here(&self) -> bool {
        let state = self.runner.lock_state();
        state.active.values().any(|active| active.plan.measures)
    }

    /// Divides all waiting times of the queue by a number, for tests.
    #[doc(hidden)]
    pub fn divide_waiting_times(&self, factor: u32) {
        self.runner.speedup.store(factor, Ordering::Relaxed);
    }

    fn run_round<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        is_due: bool,
        looked: &mut Option<Instant>,
        accounted: &mut Instant,
    ) -> Result<(), ServiceError> {
        self.send_signals();
        if accounted.elapsed() > ACCOUNTING {
            *accounted = Instant::now();
            self.account_for_all()?;
        }
        let is_woken = {
            let mut state = self.runner.lock_state();
            let now = Instant::now();
            let is_retry = state.retries.iter().any(|(id, retry)| {
                let is_new = looked.is_none_or(|looked| looked < retry.due);
                retry.due <= now && is_new && !state.active.contains_key(id)
            });
            std::mem::take(&mut state.is_woken) || is_retry
        };
        if is_woken || is_due {
            *looked = Some(Instant::now());
            self.submit_due_tasks()?;
            self.start_ready_tasks(scope)?;
            self.tend_silent_claims()?;
        }
        self.start_next_step(scope);
        self.problems.note_problem(QUEUE.to_owned(), None);
        Ok(())
    }

    /// Sends the signals that are due.
    fn send_signals(&self) {
        let grace = self.runner.scale_time(GRACE);
        let mut state = self.runner.lock_state();
        for active in state.active.values_mut() {
            let is_cancelling = active
                .stepping
                .as_ref()
                .is_some_and(Stepping::is_cancelling);
            if !active.cancel || is_cancelling || !active.signals.is_running() {
                continue;
            }
            match active.interrupted_at {
                None => {
                    active.signals.interrupt_child();
                    active.interrupted_at = Some(Instant::now());
                }
                Some(interrupted_at) if interrupted_at.elapsed() > grace => {
                    active.signals.kill_group();
                }
                Some(_) => {}
            }
        }
    }

    /// Stops all children when the service stops.
    fn shut_down(&self) {
        let idle: Vec<TaskId> = {
            let mut state = self.runner.lock_state();
            state.is_stopping = true;
            let steps = state.active.iter();
            let steps = steps.filter(|(_, active)| active.stepping.is_some());
            let idle = steps.filter(|(_, active)| !active.signals.is_running());
            idle.map(|(id, _)| *id).collect()
        };
        for id in idle {
            self.leave_to_jobs(id);
        }
        let end = Instant::now() + LAST_GRACE;
        loop {
            let mut state = self.runner.lock_state();
            if state.active.is_empty() {
                return;
            }
            for active in state.active.values_mut() {
                if active.interrupted_at.is_none() && active.signals.is_running() {
                    active.signals.interrupt_child();
                    active.interrupted_at = Some(Instant::now());
                }
                if Instant::now() > end {
                    active.signals.kill_group();
                }
            }
            if Instant::now() > end {
                return;
            }
            drop(
                self.runner
                    .news
                    .wait_timeout(state, Duration::from_millis(100)),
            );
        }
    }
}
