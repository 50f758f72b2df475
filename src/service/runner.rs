//! Carries out tasks as child processes.
//!
//! One thread decides which task is next and sends signals; it wakes up once a second at most. Each task that runs has
//! a thread that waits for its child, and two that block on the child's pipes. A task whose jobs a batch system runs
//! has a child only now and then, for a step that takes in results and submits the next job. The threads of a task lower
//! their priority once its child is there; the one that decides keeps its own, which children inherit.
//!
//! The database is told of a state before what it says happens, and of results in the transaction that ends their task.
//! So whatever is killed when, the next start finds each task waiting, running, or ended with its result. What ran
//! begins again, and what it had measured is in its store.

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
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

pub(crate) use self::plan::nodes_of;

use self::child::ChildSignals;
use self::meter::Meter;
use self::plan::{Plan, Waiting};
use self::steps::Stepping;
use crate::{Service, ServiceError, TaskId};

/// Why a task waits that could begin.
pub(crate) const ITS_TURN: &str = "waits for its turn";

/// What the queue is called among problems.
const QUEUE: &str = "the queue";

/// How often the runner looks around.
const TICK: Duration = Duration::from_secs(1);
/// The least time between two looks at the queue; one [`TICK`] while a task measures here.
const LEAST_PAUSE: Duration = Duration::from_millis(50);
/// How often all waiting tasks are looked at where nothing has happened: a month may have ended.
const ROUND: Duration = Duration::from_secs(30);
/// How often node-seconds of what runs are written down.
const ACCOUNTING: Duration = Duration::from_secs(60);
/// How long the queue rests after an error of the database.
const TROUBLE: Duration = Duration::from_secs(10);
/// How long a child that is cancelled may take to end.
const GRACE: Duration = Duration::from_secs(30);
/// The same where the service ends.
const LAST_GRACE: Duration = Duration::from_secs(3);

/// What the threads of the queue share.
#[derive(Debug)]
pub(crate) struct Runner {
    state: Mutex<State>,
    news: Condvar,
    /// What all times of waiting are divided by, for tests.
    haste: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    /// Whether something has happened since the queue was last looked at.
    is_woken: bool,
    is_stopping: bool,
    /// Tasks that run.
    active: BTreeMap<TaskId, Active>,
    /// Tasks that are tried again later.
    retries: HashMap<TaskId, Retry>,
    /// What waiting tasks need.
    plans: HashMap<TaskId, Plan>,
    /// Whether a step is under way.
    is_stepping: bool,
    last_step: Option<Instant>,
}

/// A task that runs.
#[derive(Debug)]
struct Active {
    task: Waiting,
    plan: Plan,
    signals: Arc<ChildSignals>,
    meter: Arc<Mutex<Meter>>,
    /// Whether it is to be cancelled.
    cancel: bool,
    /// When its child was asked to end.
    asked: Option<Instant>,
    /// Where it goes on in steps.
    stepping: Option<Stepping>,
}

/// When a task is tried again, and how often it has failed without any progress.
#[derive(Clone, Copy, Debug)]
struct Retry {
    failures: u32,
    /// Measurements that it had made.
    done: u64,
    due: Instant,
}

impl Default for Runner {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            news: Condvar::new(),
            haste: AtomicU32::new(1),
        }
    }
}

impl Runner {
    /// Lets the queue be looked at.
    pub(crate) fn wake(&self) {
        self.state().is_woken = true;
        self.news.notify_all();
    }

    /// Asks a task to end that may be running.
    pub(crate) fn ask_to_end(&self, id: TaskId) {
        if let Some(active) = self.state().active.get_mut(&id) {
            active.cancel = true;
            if let Some(stepping) = &mut active.stepping {
                stepping.hurry();
            }
        }
        self.wake();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whole between statements, whatever panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn scaled(&self, time: Duration) -> Duration {
        time / self.haste.load(Ordering::Relaxed).max(1)
    }

    /// Waits for news, and some more for further ones: not to be woken up by each of many.
    fn wait(&self) {
        let state = self.state();
        let is_woken = state.is_woken;
        let is_measuring = state.active.values().any(|active| active.plan.measures);
        let tick = self.scaled(TICK);
        match is_woken {
            true => drop(state),
            false => drop(self.news.wait_timeout(state, tick)),
        }
        std::thread::sleep(match is_measuring {
            true => tick,
            false => self.scaled(LEAST_PAUSE),
        });
    }
}

impl Service {
    /// Runs tasks until `stop` is set, which is noticed within a second: then children that measure here are
    /// interrupted and their tasks wait for the next start; jobs of batch systems go on. A child that takes longer than
    /// three seconds to end is killed. Errors of the database are waited out, and are among [`Service::problems`].
    pub fn run(&self, stop: &AtomicBool) {
        self.runner.state().is_stopping = false;
        std::thread::scope(|scope| {
            let (mut looked, mut accounted) = (None::<Instant>, Instant::now());
            while !stop.load(Ordering::Relaxed) {
                let is_due = looked.is_none_or(|looked| looked.elapsed() > ROUND);
                if let Err(error) = self.round(scope, is_due, &mut looked, &mut accounted) {
                    self.problems.note_trouble(QUEUE.to_owned(), &error);
                    let end = Instant::now() + self.runner.scaled(TROUBLE);
                    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
                        std::thread::sleep(self.runner.scaled(TICK));
                    }
                    looked = None;
                    continue;
                }
                self.runner.wait();
            }
            self.wind_up();
        });
    }

    /// Whether a task measures on this host now, so that all else should leave its cores alone.
    pub fn is_measuring_here(&self) -> bool {
        let state = self.runner.state();
        state.active.values().any(|active| active.plan.measures)
    }

    /// Divides all times that the queue waits by a number, for tests.
    #[doc(hidden)]
    pub fn hasten(&self, factor: u32) {
        self.runner.haste.store(factor, Ordering::Relaxed);
    }

    fn round<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        is_due: bool,
        looked: &mut Option<Instant>,
        accounted: &mut Instant,
    ) -> Result<(), ServiceError> {
        self.attend();
        if accounted.elapsed() > ACCOUNTING {
            *accounted = Instant::now();
            self.account()?;
        }
        let is_woken = {
            let mut state = self.runner.state();
            let now = Instant::now();
            let is_retry = state.retries.iter().any(|(id, retry)| {
                let is_new = looked.is_none_or(|looked| looked < retry.due);
                retry.due <= now && is_new && !state.active.contains_key(id)
            });
            std::mem::take(&mut state.is_woken) || is_retry
        };
        if is_woken || is_due {
            *looked = Some(Instant::now());
            self.dispatch(scope)?;
        }
        self.next_step(scope);
        self.problems.note(QUEUE.to_owned(), None);
        Ok(())
    }

    /// Sends the signals that are due.
    fn attend(&self) {
        let grace = self.runner.scaled(GRACE);
        let mut state = self.runner.state();
        for active in state.active.values_mut() {
            let is_cancelling = active
                .stepping
                .as_ref()
                .is_some_and(Stepping::is_cancelling);
            if !active.cancel || is_cancelling || !active.signals.holds() {
                continue;
            }
            match active.asked {
                None => {
                    active.signals.interrupt();
                    active.asked = Some(Instant::now());
                }
                Some(asked) if asked.elapsed() > grace => active.signals.kill(),
                Some(_) => {}
            }
        }
    }

    /// Ends what ends with the service.
    fn wind_up(&self) {
        let idle: Vec<TaskId> = {
            let mut state = self.runner.state();
            state.is_stopping = true;
            let steps = state.active.iter();
            let steps = steps.filter(|(_, active)| active.stepping.is_some());
            let idle = steps.filter(|(_, active)| !active.signals.holds());
            idle.map(|(id, _)| *id).collect()
        };
        for id in idle {
            self.leave(id);
        }
        let end = Instant::now() + LAST_GRACE;
        loop {
            let mut state = self.runner.state();
            if state.active.is_empty() {
                return;
            }
            for active in state.active.values_mut() {
                if active.asked.is_none() && active.signals.holds() {
                    active.signals.interrupt();
                    active.asked = Some(Instant::now());
                }
                if Instant::now() > end {
                    active.signals.kill();
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
