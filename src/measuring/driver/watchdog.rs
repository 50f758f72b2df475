//! Ends the launch when it should not continue: a candidate hangs, or the command that waits for the result is gone.

use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use benchmarking::{Failure, Spool};
use files::Plain;
use nix::fcntl::{Flock, FlockArg};
use wire::{FailureKind, exit_code};

use crate::error::DriverError;

/// The interval of the checks, long enough not to disturb measurements.
const PERIOD: Duration = Duration::from_millis(250);

/// The additional patience of ranks other than 0.
const LATER: Duration = Duration::from_secs(3);

/// The additional time for each rank when clocks are compared, as a rank may have to learn its clock again.
const COMPARISON: Duration = Duration::from_secs(2);

/// The current step and its deadline.
#[derive(Debug)]
struct WatchedStep {
    /// The task and the candidate; `None` while ranks compare their clocks, which no candidate is responsible for.
    task_and_candidate: Option<(u32, u32)>,
    ends: Instant,
}

/// A thread on every rank that enforces deadlines.
#[derive(Clone, Debug)]
pub(crate) struct Watchdog {
    turn: Arc<Mutex<Option<WatchedStep>>>,
    patience: Duration,
}

impl Watchdog {
    /// Starts the thread. `patience` is the limit of a turn. Ranks other than 0 wait longer, so that rank 0 records
    /// the hang unless it is stuck itself.
    pub(crate) fn start(
        patience: Duration,
        parent_lock: Option<PathBuf>,
        spool: Spool,
        rank: u32,
    ) -> Self {
        let patience = if rank == 0 {
            patience
        } else {
            patience + LATER
        };
        let watchdog = Self {
            turn: Arc::default(),
            patience,
        };
        let turn = Arc::clone(&watchdog.turn);
        let launcher = parent_id();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(PERIOD);
                if parent_id() != launcher || parent_lock.as_deref().is_some_and(is_unlocked) {
                    exec::exit_now(exit_code::ORPHANED);
                }
                let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(turn) = turn.as_ref().filter(|turn| turn.ends < Instant::now()) {
                    end_launch(turn, patience, &spool);
                }
            }
        });
        watchdog
    }

    /// Begins a candidate's turn.
    pub(crate) fn begin_turn(&self, task: u32, candidate: u32) {
        let ends = Instant::now() + self.patience;
        let of = Some((task, candidate));
        self.replace_step(Some(WatchedStep {
            task_and_candidate: of,
            ends,
        }));
    }

    /// Begins a comparison of the clocks of `ranks` ranks.
    pub(crate) fn begin_comparison(&self, ranks: u32) {
        let ends = Instant::now() + self.patience + COMPARISON * ranks;
        self.replace_step(Some(WatchedStep {
            task_and_candidate: None,
            ends,
        }));
    }

    /// Ends the current step.
    pub(crate) fn end_step(&self) {
        self.replace_step(None);
    }

    /// As [`Watchdog::end_step`]; returns the task and candidate of the turn that it ends.
    pub(crate) fn interrupt_turn(&self) -> Option<(u32, u32)> {
        self.replace_step(None)
            .and_then(|turn| turn.task_and_candidate)
    }

    /// Replaces the current step, and returns it.
    fn replace_step(&self, turn: Option<WatchedStep>) -> Option<WatchedStep> {
        let mut in_flight = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *in_flight, turn)
    }
}

fn end_launch(turn: &WatchedStep, patience: Duration, spool: &Spool) -> ! {
    let Some((task, candidate)) = turn.task_and_candidate else {
        let error = DriverError::Clocks;
        eprintln!("{}{}", error.message_prefix(), Plain(&error));
        exec::exit_now(error.exit_code());
    };
    let failure = Failure {
        kind: FailureKind::Hang,
        message: format!(
            "a turn did not end within {} s: a deadlock, or slower than the watchdog allows",
            patience.as_secs_f64()
        ),
    };
    if let Err(error) = spool.write_record(&failure.into_record(task, candidate)) {
        eprintln!("colltune-driver: {}", Plain(error));
    }
    exec::exit_now(exit_code::HANG);
}

/// Whether no process holds the lock any more. False if the file cannot be opened.
fn is_unlocked(lock: &Path) -> bool {
    let Ok(file) = files::open_regular(lock) else {
        return false;
    };
    Flock::lock(file, FlockArg::LockSharedNonblock).is_ok()
}
