//! Runs of a user's program as a whole.

use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::LaunchError;
use super::tree::ProcessTree;

/// The time between two looks at a program: run times are known to about this.
const PAUSE: Duration = Duration::from_millis(1);
/// The time that a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// How a run of a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// The program ended by itself.
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// The time from its start.
        took: Duration,
    },
    /// It took longer than it may, and was killed.
    TooLong,
    /// The user asked to stop, and it was killed.
    Stopped,
}

/// Runs a program to its end, with the standard streams that the command has. Afterwards none of the processes that it
/// started is left. `limit` is the time that it may take, and setting `stop` ends it early.
///
/// # Errors
/// If the program cannot be started or watched, or its processes cannot be killed.
pub fn run_program(
    command: Command,
    limit: Option<Duration>,
    stop: &AtomicBool,
) -> Result<ProgramEnd, LaunchError> {
    let program = command.get_program().to_owned();
    let started = Instant::now();
    let mut tree = ProcessTree::spawn(command).map_err(|source| LaunchError::Start {
        launcher: program.into(),
        source,
    })?;
    loop {
        // The time is taken before the tree is searched for processes that are left.
        let took = started.elapsed();
        if let Some(status) = tree.poll()? {
            return Ok(ProgramEnd::Ended { status, took });
        }
        let is_stopped = stop.load(Ordering::Relaxed);
        if is_stopped || limit.is_some_and(|limit| took > limit) {
            tree.terminate(GRACE)?;
            return Ok(if is_stopped {
                ProgramEnd::Stopped
            } else {
                ProgramEnd::TooLong
            });
        }
        thread::sleep(PAUSE);
    }
}
