//! Starting MPI programs, such that nothing of them survives.
//!
//! [`discover`] finds the MPI libraries of a machine, [`LocalLauncher`] starts a program with one
//! of them, [`BatchLauncher`] does so in jobs of a [`BatchSystem`], and [`find_driver`] finds the
//! measuring program that was built for a library.

mod ask;
mod batch;
mod batch_system;
mod command;
mod command_line;
mod commands;
mod cores;
mod discover;
mod driver;
mod error;
mod hosts;
mod local;
mod options;
mod pbs;
mod recorded;
mod slurm;
mod submission;
mod tree;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use vocabulary::CommShape;

pub use batch::BatchLauncher;
pub use batch::{check_template, is_shell_variable, takes_orders};
pub use batch_system::{BATCH_SYSTEMS, BatchSystem, Words, batch_system, switch_variables};
pub use command_line::{CommandLine, PRELOADING};
pub use cores::cores;
pub use discover::{Discovery, Installation, Refusal, Unusable, discover, discover_within, select};
pub use driver::{
    driver_directories, find_driver, find_preloaded, list_natives, list_settings, list_variables,
};
pub use error::LaunchError;
pub use hosts::{HostFileError, read_hosts};
pub use libraries::LibraryName;
pub use local::{Binding, LocalLauncher};
pub use options::{
    Allocation, BatchOptions, Hosts, JobSpecification, LibraryChoice, LocalOptions, Oversubscribe,
    Template,
};
pub use recorded::{Recorded, RecordedState, cancel, recorded, submissions};
pub use submission::Submission;

/// Something that can start a program on several ranks.
pub trait Launcher {
    /// Starts a job and returns at once.
    ///
    /// # Errors
    /// When it cannot be started at all; a job that fails later says so in its [`Exit`].
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError>;

    /// Does what [`Launcher::start`] does, and stops trying soon after `stop` is set.
    ///
    /// # Errors
    /// As for [`Launcher::start`]; [`LaunchError::Interrupted`] if it was given up.
    fn start_unless(&self, job: &Job, _stop: &AtomicBool) -> Result<Box<dyn Running>, LaunchError> {
        self.start(job)
    }

    /// Whether jobs go on when this process ends; then [`Launcher::resume`] finds them again, and
    /// plans must not name a leash.
    fn outlives(&self) -> bool {
        false
    }

    /// Takes up a job that an earlier process started and that may have ended meanwhile; `None` if it
    /// never reached the batch system, or jobs of this launcher end with their process.
    ///
    /// # Errors
    /// The batch system does not answer, or what is recorded of the job cannot be read.
    fn resume(&self, _job: &Job) -> Result<Option<Box<dyn Running>>, LaunchError> {
        Ok(None)
    }

    /// The script by which a job would be submitted; `None` if jobs of this launcher have none.
    ///
    /// # Errors
    /// A template that cannot be filled in.
    fn render(&self, _job: &Job) -> Result<Option<String>, LaunchError> {
        Ok(None)
    }

    /// Nothing more will be started: gives back what is held for further launches.
    ///
    /// # Errors
    /// The batch system does not answer.
    fn close(&self) -> Result<(), LaunchError> {
        Ok(())
    }
}

/// A program to run on several ranks.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program, an MPI program; a launcher that is the program itself ignores it.
    pub driver: PathBuf,
    /// Its plan, the one argument.
    pub plan: PathBuf,
    /// Number of ranks, a multiple of `ppn`.
    pub ranks: u32,
    /// Ranks on each node; equal to `ranks` on one machine.
    pub ppn: u32,
    /// File for what launcher and ranks print; replaced if it exists.
    pub log: PathBuf,
    /// Environment variables of launcher and ranks, beyond those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// How long the job may run before it is killed; waiting for nodes does not count.
    pub timeout: Option<Duration>,
    /// How long from now nodes shall not be asked for, where there is a queue: such a job has nodes of its
    /// own, which no earlier launch had.
    pub begin_in: Option<Duration>,
    /// Whether further launches may follow at once, so that it is worth it to hold the nodes for them.
    pub keep: bool,
}

impl Job {
    /// The number of nodes and the ranks on each.
    pub fn shape(&self) -> CommShape {
        CommShape {
            nodes: self.ranks.div_ceil(self.ppn.max(1)),
            ppn: self.ppn,
        }
    }
}

/// A job under way; dropping it kills it, unless its launcher's jobs go on without this process.
pub trait Running: Send {
    /// How the job ended, or `None` while it runs. A job past its timeout is killed here.
    ///
    /// # Errors
    /// When the operating system refuses to say, or processes cannot be killed.
    fn poll(&mut self) -> Result<Option<Exit>, LaunchError>;

    /// The batch system's id of the job; `None` where there is no batch system.
    fn id(&self) -> Option<&str> {
        None
    }

    /// The last known state of the job; does not ask the batch system. Jobs of launchers without a queue run.
    fn standing(&self) -> JobState {
        JobState::Running { nodes: Vec::new() }
    }

    /// Ends the job and waits until none of its processes is left.
    ///
    /// The launcher is asked first and given a moment to clean up; then everything is killed.
    ///
    /// # Errors
    /// [`LaunchError::Survivors`] if processes cannot be killed.
    fn kill(&mut self) -> Result<(), LaunchError>;

    /// Waits for the end of the job, but not longer than `timeout`.
    ///
    /// # Errors
    /// As for [`Running::poll`].
    fn wait_timeout(&mut self, timeout: Duration) -> Result<Option<Exit>, LaunchError> {
        let deadline = Instant::now() + timeout;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(exit) = self.poll()? {
                return Ok(Some(exit));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

/// The state of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// The job waits for nodes.
    Queued {
        /// The batch system's id of it.
        id: String,
        /// Why, in the scheduler's words, if it says.
        reason: Option<String>,
    },
    /// The job runs.
    Running {
        /// The names of the nodes, if they are known.
        nodes: Vec<String>,
    },
    /// The job has ended.
    Ended,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The way in which the job ended.
    pub outcome: Outcome,
    /// Where launcher and ranks printed to.
    pub log: PathBuf,
    /// The last lines of it.
    pub tail: Vec<String>,
    /// Nodes that failed, where the batch system names them.
    pub failed_nodes: Vec<String>,
}

/// The ways in which a job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The launcher exited with 0.
    Success,
    /// The launcher exited with another code.
    Code(i32),
    /// A signal ended the launcher.
    Signal(i32),
    /// The job was killed at its timeout.
    TimedOut,
    /// The job was killed by [`Running::kill`].
    Killed,
    /// The batch system ended it: nothing that was measured is to blame.
    Ended(BatchEnd),
}

/// Why a batch system ended a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEnd {
    /// Its wall time was over.
    WallTime,
    /// The job was cancelled.
    Cancelled,
    /// Another job needed its nodes.
    Preempted,
    /// A node failed; [`Exit::failed_nodes`] says which.
    NodeFailed,
    /// The job needed more memory than it was given.
    OutOfMemory,
    /// The job ended before this launch began, as when an allocation is over: nothing was lost.
    NotBegun,
    /// The batch system knows nothing of it any more, and it has not said how it ended.
    Lost,
}

impl Exit {
    /// Success, or the error that says what happened.
    ///
    /// # Errors
    /// [`LaunchError::Failed`] for every other outcome.
    pub fn success(self) -> Result<(), LaunchError> {
        match self.outcome {
            Outcome::Success => Ok(()),
            outcome => Err(LaunchError::Failed {
                outcome,
                log: self.log,
                tail: self.tail,
                failed_nodes: self.failed_nodes,
            }),
        }
    }
}
