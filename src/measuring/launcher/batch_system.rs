//! The trait of batch systems, and the table of the supported ones.

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

/// The batch systems, one row each, in the order in which messages list them.
pub const BATCH_SYSTEMS: [&dyn BatchSystem; 2] = [&Slurm, &Pbs];

/// The batch system of this name, [`Words::name`].
pub fn batch_system(name: &str) -> Option<&'static dyn BatchSystem> {
    let mut systems = BATCH_SYSTEMS.into_iter();
    systems.find(|system| system.name() == name)
}

/// The variables in which batch systems give the switches above a node.
pub fn switch_variables() -> Vec<SwitchVariables> {
    let systems = BATCH_SYSTEMS.into_iter();
    systems
        .filter_map(|system| {
            let [path, node] = system.words().switches?.map(str::to_owned);
            Some(SwitchVariables { path, node })
        })
        .collect()
}

/// A batch system: the form of its scripts, and the use of its commands.
///
/// Each batch system is one file of this crate, its template and its row in [`BATCH_SYSTEMS`].
pub trait BatchSystem: Debug + Send + Sync {
    /// Names and texts.
    fn words(&self) -> &'static Words;

    /// [`Words::name`].
    fn name(&self) -> &'static str {
        self.words().name
    }

    /// A wall time in the form of its directive.
    fn wall_time(&self, seconds: u64) -> String {
        hours_minutes_seconds(seconds)
    }

    /// The name of a job in the queue: the campaign and the launch's number, for users, as far as the length of names
    /// permits, and `mark`, 8 characters that distinguish the job from all others.
    fn job_name(&self, campaign: &str, number: &str, mark: &str) -> String {
        format!("{campaign}-{number}-{mark}")
    }

    /// Checks whether a script would be accepted, without submitting it; does nothing where this is impossible.
    ///
    /// # Errors
    /// [`LaunchError::Refused`] with the batch system's message.
    fn check(&self, _commands: &Commands, _request: &JobRequest<'_>) -> Result<(), LaunchError> {
        Ok(())
    }

    /// The arguments with which [`Words::step`] gives variables to ranks. Variables other than [`crate::PRELOADING`]
    /// are also in the command's own environment, where `value` finds any variable.
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
    /// [`LaunchError::Refused`] with the batch system's message; [`LaunchError::Silent`] if it was not reached.
    fn submit_script(
        &self,
        commands: &Commands,
        request: &JobRequest<'_>,
    ) -> Result<Receipt, LaunchError>;

    /// The statuses of these jobs; jobs that are missing in the result are no longer known.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it cannot be reached.
    fn query_statuses(
        &self,
        commands: &Commands,
        jobs: &[JobId],
    ) -> Result<BTreeMap<JobId, JobStatus>, LaunchError>;

    /// The status of a job, also if it is no longer known.
    ///
    /// # Errors
    /// The errors of [`BatchSystem::query_statuses`].
    fn query_status(&self, commands: &Commands, job: &JobId) -> Result<JobStatus, LaunchError> {
        let mut known = self.query_statuses(commands, std::slice::from_ref(job))?;
        Ok(known.remove(job).unwrap_or(JobStatus::LOST))
    }

    /// The last submitted job of this name, if it is still known.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it cannot be reached.
    fn find_job_named(&self, commands: &Commands, name: &str)
    -> Result<Option<JobId>, LaunchError>;

    /// Requests the end of a job; does nothing if it has ended.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it cannot be reached, [`LaunchError::Refused`].
    fn cancel_job(&self, commands: &Commands, job: &JobId) -> Result<(), LaunchError>;

    /// Requests the end of all jobs of this name on a cluster, or on the usual one; does nothing if there are none.
    ///
    /// # Errors
    /// Those of [`BatchSystem::cancel_job`].
    fn cancel_jobs_named(
        &self,
        commands: &Commands,
        name: &str,
        cluster: Option<&str>,
    ) -> Result<(), LaunchError>;
}

/// The answer to a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The command printed this id.
    Id(JobId),
    /// The script may have been accepted, but the answer has no id: this text, or the reason why there is none.
    Unreadable(String),
}

/// The names and texts of a batch system.
#[derive(Debug)]
pub struct Words {
    /// Its key in campaigns, which is also in records of jobs and in digests and must not change.
    pub name: &'static str,
    /// Its name in messages.
    pub title: &'static str,
    /// The prefix of a directive's line in scripts.
    pub mark: &'static str,
    /// Its term for a group of nodes from which the nodes of a job are chosen: partition, or queue.
    pub partition: &'static str,
    /// The keys of a job specification for which it has no directive.
    pub lacks: &'static [&'static str],
    /// The template of its scripts. It turns a job's specification into directives, and sets `hosts` (an array, each
    /// node once) and `ends` (in seconds since 1970) from the job's environment; jobs/README.md lists the variables of
    /// templates.
    pub template: &'static str,
    /// Its name in Hydra, the launcher of MPICH, if MPI launchers get a job's nodes from the batch system; otherwise
    /// they get a host file.
    pub bootstrap: Option<&'static str>,
    /// The variables of a job's processes with the path of switches to their node, and with the node's name:
    /// [`SwitchVariables`].
    pub switches: Option<[&'static str; 2]>,
    /// The command that starts ranks within a job, if the batch system has one.
    pub step: Option<&'static str>,
    /// The command that submits jobs: if it refuses, the job's specification is wrong.
    pub submit: &'static str,
}

/// `HH:MM:SS`, with any number of hours.
pub(crate) fn hours_minutes_seconds(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}")
}

/// Names are unique.
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
    /// The cluster, if commands need it.
    pub cluster: Option<String>,
    /// Its name in the queue; ids are not unique, since a controller that lost its last seconds reuses them.
    pub name: String,
}

/// A job to submit.
#[derive(Clone, Copy, Debug)]
pub struct JobRequest<'a> {
    /// The job's name in the queue, which identifies it.
    pub name: &'a str,
    /// The script.
    pub script: &'a Path,
    /// The file for the script's output.
    pub output: &'a Path,
    /// The least delay before the job begins.
    pub begin_in: Duration,
}

/// The status of a job as its batch system reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// The job waits for nodes.
    Queued {
        /// The reason, if the batch system gives one.
        reason: Option<String>,
    },
    /// The job has nodes.
    Running,
    /// The job has ended.
    Ended {
        /// The kind of end.
        end: JobEnd,
        /// The nodes that failed, if these are the reason.
        failed_nodes: Vec<String>,
    },
}

impl JobStatus {
    /// The status of a job that the batch system no longer knows.
    pub(crate) const LOST: Self = Self::Ended {
        end: JobEnd::By(BatchEnd::Lost),
        failed_nodes: Vec::new(),
    };
}

/// The end of a job as its batch system reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Its script exited with this code.
    Exited(i32),
    /// The batch system, or a user, ended the job.
    By(BatchEnd),
}

impl JobEnd {
    /// The outcome of a launch if the job has not written it; `begun` says whether the launch had begun.
    pub(crate) fn launch_outcome(self, begun: bool) -> Outcome {
        match self {
            Self::Exited(0) | Self::By(BatchEnd::WallTime | BatchEnd::Lost) if !begun => {
                Outcome::Ended(BatchEnd::NotBegun)
            }
            Self::By(end) => Outcome::Ended(end),
            // The script ended during the launch.
            Self::Exited(code) if begun => Outcome::Code(code.max(1)),
            Self::Exited(code) => Outcome::Code(code),
        }
    }
}
