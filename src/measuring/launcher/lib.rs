//! Starts MPI programs, and ends them with all their processes.
//!
//! [`discover_libraries`] finds the MPI libraries of a machine, [`LocalLauncher`] starts a program with one of them,
//! [`BatchLauncher`] does so in jobs of a [`BatchSystem`], and [`find_driver`] finds the measuring program of a
//! library.
//!
//! `tree.rs` says how processes are ended so that none is left, `batch.rs` how jobs and the command that follows them
//! survive each other's end.

mod ask;
mod batch;
mod batch_system;
mod command;
mod command_line;
mod commands;
mod discover;
mod driver;
mod error;
mod hosts;
mod local;
mod options;
mod pbs;
mod program;
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
pub use discover::{
    Discovery, Installation, Refusal, Unusable, discover_libraries, discover_within,
    select_installation,
};
pub use driver::{
    check_libdir, driver_directories, find_driver, find_preloaded, find_unknown_drivers,
    list_natives, list_settings, list_variables,
};
pub use environment::usable_cores;
pub use error::LaunchError;
pub use hosts::{HostFileError, read_hosts};
pub use libraries::LibraryName;
pub use local::{Binding, LocalLauncher};
pub use options::{
    Allocation, BatchOptions, Hosts, JobSpecification, LibraryChoice, LocalOptions, Oversubscribe,
    Template,
};
pub use program::{ProgramEnd, run_program};
pub use recorded::{
    RecordedLaunch, RecordedState, cancel_recorded_jobs, list_recorded_launches, read_submissions,
};
pub use submission::Submission;

/// A launcher of programs on several ranks.
pub trait Launcher {
    /// Starts a job and returns at once.
    ///
    /// # Errors
    /// The job cannot be started; a job that fails later has an [`Exit`] instead.
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError>;

    /// Starts a job like [`Launcher::start`], but stops trying soon after `stop` is set.
    ///
    /// # Errors
    /// The errors of [`Launcher::start`]; [`LaunchError::Interrupted`] if it stopped trying.
    fn start_unless(&self, job: &Job, _stop: &AtomicBool) -> Result<Box<dyn Running>, LaunchError> {
        self.start(job)
    }

    /// Whether jobs continue when this process ends. Then [`Launcher::resume`] finds them again, and plans must not
    /// name a `parent_lock`.
    fn has_outliving_jobs(&self) -> bool {
        false
    }

    /// Resumes a job that an earlier process started and that may have ended since; `None` if it never reached the
    /// batch system, or if jobs of this launcher end with their process.
    ///
    /// # Errors
    /// The batch system does not answer, or the records of the job cannot be read.
    fn resume(&self, _job: &Job) -> Result<Option<Box<dyn Running>>, LaunchError> {
        Ok(None)
    }

    /// The script with which a job would be submitted; `None` if this launcher has no scripts.
    ///
    /// # Errors
    /// The template cannot be rendered.
    fn render_script(&self, _job: &Job) -> Result<Option<String>, LaunchError> {
        Ok(None)
    }

    /// Releases the resources held for further launches; nothing more will be started.
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
    /// The MPI program; ignored by launchers that replace it.
    pub driver: PathBuf,
    /// The path of its plan, its only argument.
    pub plan: PathBuf,
    /// Number of ranks, a multiple of `ppn`.
    pub ranks: u32,
    /// Ranks on each node; equal to `ranks` on one machine.
    pub ppn: u32,
    /// File for the output of launcher and ranks; replaced if it exists.
    pub log: PathBuf,
    /// Environment variables of launcher and ranks, beyond those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// The time after which the job is killed; waiting for nodes does not count.
    pub timeout: Option<Duration>,
    /// The delay before nodes are requested, if there is a queue. Such a job has its own nodes, not those of an earlier
    /// launch.
    pub begin_in: Option<Duration>,
    /// Whether further launches may follow soon, so that the nodes should be kept for them.
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

/// A running job; dropping it kills it, unless its launcher's jobs continue without this process.
pub trait Running: Send {
    /// The end of the job, or `None` while it runs. A job past its timeout is killed here.
    ///
    /// # Errors
    /// The operating system does not report the status, or processes cannot be killed.
    fn poll(&mut self) -> Result<Option<Exit>, LaunchError>;

    /// The batch system's id of the job; `None` where there is no batch system.
    fn id(&self) -> Option<&str> {
        None
    }

    /// The last known state of the job, without asking the batch system. Without a queue, jobs always run.
    fn last_known_state(&self) -> JobState {
        JobState::Running { nodes: Vec::new() }
    }

    /// Ends the job and waits until all of its processes have ended.
    ///
    /// The launcher is asked to end and given time to clean up; then all processes are killed.
    ///
    /// # Errors
    /// [`LaunchError::Survivors`] if processes cannot be killed.
    fn kill(&mut self) -> Result<(), LaunchError>;

    /// Waits for the end of the job, at most for `timeout`.
    ///
    /// # Errors
    /// The errors of [`Running::poll`].
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
        /// The job's id in the batch system.
        id: String,
        /// The scheduler's reason, if it gives one.
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

/// The end of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The way in which the job ended.
    pub outcome: Outcome,
    /// The file with the output of launcher and ranks.
    pub log: PathBuf,
    /// The last lines of the log.
    pub tail: Vec<String>,
    /// Nodes that failed, if the batch system names them.
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
    /// The batch system ended the job; the program is not the cause.
    Ended(BatchEnd),
}

/// The reason why a batch system ended a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEnd {
    /// It reached its wall time.
    WallTime,
    /// The job was cancelled.
    Cancelled,
    /// Another job needed its nodes.
    Preempted,
    /// A node failed, one of [`Exit::failed_nodes`].
    NodeFailed,
    /// The job exceeded its memory.
    OutOfMemory,
    /// The job ended before this launch began, as at the end of an allocation; nothing was lost.
    NotBegun,
    /// The batch system no longer knows the job, and did not report its end.
    Lost,
}

impl Exit {
    /// Success, or an error that describes the end.
    ///
    /// # Errors
    /// [`LaunchError::Failed`] for every other outcome.
    pub fn into_result(self) -> Result<(), LaunchError> {
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
