//! What a batch system is, and which ones there are.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use wire::SwitchVariables;

use super::commands::Commands;
use super::pbs::Pbs;
use super::slurm::Slurm;
use super::{BatchEnd, LaunchError, Outcome};

/// The batch systems, in the order in which messages list them: a row each.
pub const BATCH_SYSTEMS: [&dyn BatchSystem; 2] = [&Slurm, &Pbs];

/// The batch system of this name, [`Words::name`].
pub fn batch_system(name: &str) -> Option<&'static dyn BatchSystem> {
    let mut systems = BATCH_SYSTEMS.into_iter();
    systems.find(|system| system.name() == name)
}

/// The variables by which batch systems name the switches above a node.
pub fn switch_variables() -> Vec<SwitchVariables> {
    let systems = BATCH_SYSTEMS.into_iter();
    systems
        .filter_map(|system| {
            let [path, node] = system.words().switches?.map(str::to_owned);
            Some(SwitchVariables { path, node })
        })
        .collect()
}

/// A batch system: how scripts are written for it, and how its commands are used and understood.
///
/// Nothing else differs between batch systems; each is one file of this crate, its template and its
/// row in [`BATCH_SYSTEMS`].
pub trait BatchSystem: Debug + Send + Sync {
    /// What is written for it and about it.
    fn words(&self) -> &'static Words;

    /// [`Words::name`].
    fn name(&self) -> &'static str {
        self.words().name
    }

    /// A wall time as its directive has it.
    fn wall_time(&self, seconds: u64) -> String {
        clock(seconds)
    }

    /// The name of a job in the queue: the campaign and the number of a launch for those who look there, as
    /// far as names may be that long, and `mark`, 8 characters, which tells it from all other jobs.
    fn job_name(&self, campaign: &str, number: &str, mark: &str) -> String {
        format!("{campaign}-{number}-{mark}")
    }

    /// Whether a script would be taken, without submitting it; nothing happens where there is no way to ask.
    ///
    /// # Errors
    /// [`LaunchError::Refused`] in the batch system's own words.
    fn check(&self, _commands: &Commands, _request: &JobRequest<'_>) -> Result<(), LaunchError> {
        Ok(())
    }

    /// The arguments by which [`Words::step`] gives variables to ranks. All but [`crate::PRELOADING`] are in the
    /// command's own environment too, of which `value` finds the other variables' values.
    ///
    /// # Errors
    /// [`LaunchError::Step`] if the given arguments do not allow it.
    fn step_arguments(
        &self,
        arguments: &[OsString],
        _variables: &[(&str, OsString)],
        _value: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Vec<OsString>, LaunchError> {
        Ok(arguments.to_vec())
    }

    /// Submits a script.
    ///
    /// # Errors
    /// [`LaunchError::Refused`] in the batch system's own words; [`LaunchError::Silent`] if it
    /// cannot be reached, and it is not known whether the script was taken.
    fn submit(&self, commands: &Commands, request: &JobRequest<'_>) -> Result<JobId, LaunchError>;

    /// How these jobs are; those that are missing in the answer are no longer known.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it cannot be reached.
    fn status(
        &self,
        commands: &Commands,
        jobs: &[JobId],
    ) -> Result<BTreeMap<JobId, JobStatus>, LaunchError>;

    /// How a job is, be it that it is no longer known.
    ///
    /// # Errors
    /// As for [`BatchSystem::status`].
    fn status_of(&self, commands: &Commands, job: &JobId) -> Result<JobStatus, LaunchError> {
        let mut known = self.status(commands, std::slice::from_ref(job))?;
        Ok(known.remove(job).unwrap_or(JobStatus::LOST))
    }

    /// The job of this name that was submitted last, if it is still known.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it cannot be reached.
    fn find(&self, commands: &Commands, name: &str) -> Result<Option<JobId>, LaunchError>;

    /// Asks for the end of a job; nothing happens if it has ended.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it cannot be reached, [`LaunchError::Refused`].
    fn cancel(&self, commands: &Commands, job: &JobId) -> Result<(), LaunchError>;
}

/// What is written for a batch system and about it.
#[derive(Debug)]
pub struct Words {
    /// Its key in campaigns, which also stands in records of jobs and in digests: it must not change.
    pub name: &'static str,
    /// Its name in messages.
    pub title: &'static str,
    /// What a line of a script begins with that is a directive.
    pub mark: &'static str,
    /// What it calls the nodes among which it chooses those of a job: a partition, or a queue.
    pub partition: &'static str,
    /// The keys of a job specification that it has no directive for.
    pub lacks: &'static [&'static str],
    /// The template of its scripts. It turns a job's specification into directives, and sets `hosts` (an
    /// array, each node once) and `ends` (in seconds since 1970) from the variables of the job's
    /// environment; jobs/README.md lists what templates know.
    pub template: &'static str,
    /// What Hydra, the launcher of MPICH, calls it, if MPI launchers learn from it which nodes a job has; else
    /// they are given a file of hosts.
    pub bootstrap: Option<&'static str>,
    /// The variables of a job's processes with the path of switches to their node, and with the node's name:
    /// [`SwitchVariables`].
    pub switches: Option<[&'static str; 2]>,
    /// The command that starts ranks within a job, if the batch system has one.
    pub step: Option<&'static str>,
    /// The command that submits: what it refuses is the job's specification.
    pub submit: &'static str,
}

/// `HH:MM:SS`, with as many hours as there are.
pub(crate) fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}")
}

/// There is one of each name.
impl PartialEq for dyn BatchSystem {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn BatchSystem {}

/// A job as its batch system knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId {
    /// The id, as commands print it.
    pub id: String,
    /// The cluster, where commands must be told.
    pub cluster: Option<String>,
    /// Its name in the queue: a controller that lost its last seconds gives ids again.
    pub name: String,
}

/// What is submitted.
#[derive(Clone, Copy, Debug)]
pub struct JobRequest<'a> {
    /// The job's name in the queue, by which it is found again.
    pub name: &'a str,
    /// The script.
    pub script: &'a Path,
    /// Where the batch system writes what the script prints.
    pub output: &'a Path,
    /// The job begins no earlier than this long after now.
    pub begin_in: Duration,
}

/// How a job is, in the eyes of its batch system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// The job waits for nodes.
    Queued {
        /// Why, if the batch system says.
        reason: Option<String>,
    },
    /// The job has nodes.
    Running,
    /// The job has ended.
    Ended {
        /// How.
        end: End,
        /// The nodes that failed, if that is why.
        failed_nodes: Vec<String>,
    },
}

impl JobStatus {
    /// The status of a job that the batch system no longer knows.
    pub(crate) const LOST: Self = Self::Ended {
        end: End::By(BatchEnd::Lost),
        failed_nodes: Vec::new(),
    };
}

/// How a job ended, in the eyes of its batch system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its script did, with this code.
    Exited(i32),
    /// The batch system, or a user, ended the job.
    By(BatchEnd),
}

impl End {
    /// How a launch of the job ended, `begun` or not, that has not said so itself.
    pub(crate) fn of_launch(self, begun: bool) -> Outcome {
        match self {
            Self::Exited(0) | Self::By(BatchEnd::WallTime | BatchEnd::Lost) if !begun => {
                Outcome::Ended(BatchEnd::NotBegun)
            }
            Self::By(end) => Outcome::Ended(end),
            // The script ended in the middle of the launch.
            Self::Exited(code) if begun => Outcome::Code(code.max(1)),
            Self::Exited(code) => Outcome::Code(code),
        }
    }
}
