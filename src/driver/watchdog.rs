//! Ends the launch when it should not go on: a candidate hangs, or no command waits for the result.

use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use wire::{FailureKind, Record, exit_code};

use crate::error::DriverError;
use crate::spool::Spool;

/// How often the watchdog looks. Rare enough not to disturb what is measured.
const PERIOD: Duration = Duration::from_millis(250);

/// How much longer ranks other than 0 wait.
const LATER: Duration = Duration::from_secs(3);

/// How much longer looking at clocks may take for each rank: it may have to learn its clock anew.
const LESSON: Duration = Duration::from_secs(2);

/// What is in flight and until when it may be.
#[derive(Debug)]
struct Turn {
    /// The task and the candidate; absent while ranks look at their clocks, which is no candidate's
    /// fault.
    whose: Option<(u32, u32)>,
    ends: Instant,
}

/// A thread on every rank that looks after the launch.
#[derive(Clone, Debug)]
pub(crate) struct Watchdog {
    turn: Arc<Mutex<Option<Turn>>>,
    patience: Duration,
}

impl Watchdog {
    /// Starts the thread. `patience` is what a turn may take; ranks other than 0 wait longer, so
    /// that it is rank 0 that writes down what hung, unless it is stuck itself.
    pub(crate) fn start(
        patience: Duration,
        leash: Option<PathBuf>,
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
                if parent_id() != launcher || leash.as_deref().is_some_and(leash_is_loose) {
                    exec::exit_now(exit_code::ORPHANED);
                }
                let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(turn) = turn.as_ref().filter(|turn| turn.ends < Instant::now()) {
                    give_up(turn, patience, &spool);
                }
            }
        });
        watchdog
    }

    /// A candidate's turn begins.
    pub(crate) fn begin(&self, task: u32, candidate: u32) {
        let ends = Instant::now() + self.patience;
        let whose = Some((task, candidate));
        self.set(Some(Turn { whose, ends }));
    }

    /// `ranks` ranks begin to look at their clocks.
    pub(crate) fn begin_look(&self, ranks: u32) {
        let ends = Instant::now() + self.patience + LESSON * ranks;
        self.set(Some(Turn { whose: None, ends }));
    }

    /// Nothing is in flight.
    pub(crate) fn rest(&self) {
        self.set(None);
    }

    /// Like [`Watchdog::rest`]; returns the task and candidate that were in flight.
    pub(crate) fn interrupt(&self) -> Option<(u32, u32)> {
        self.set(None).and_then(|turn| turn.whose)
    }

    /// Returns what was in flight before.
    fn set(&self, turn: Option<Turn>) -> Option<Turn> {
        let mut in_flight = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *in_flight, turn)
    }
}

fn give_up(turn: &Turn, patience: Duration, spool: &Spool) -> ! {
    let Some((task, candidate)) = turn.whose else {
        let error = DriverError::Clocks;
        eprintln!("{}{error}", error.prefix());
        exec::exit_now(error.exit_code());
    };
    let record = Record::Failed {
        task,
        candidate,
        kind: FailureKind::Hang,
        message: format!(
            "a turn did not end within {} s: a deadlock, or slower than the watchdog allows",
            patience.as_secs_f64()
        ),
    };
    if let Err(error) = spool.write(&record) {
        eprintln!("colltune-driver: {error}");
    }
    exec::exit_now(exit_code::HANG);
}

/// Whether no process holds the lock any more. A file that cannot be opened is no proof of that.
fn leash_is_loose(leash: &Path) -> bool {
    let Ok(file) = files::open(leash) else {
        return false;
    };
    Flock::lock(file, FlockArg::LockSharedNonblock).is_ok()
}
