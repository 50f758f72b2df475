//! A launch that a job of a batch system carries out.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::order::{JobFolder, Stage};
use super::place::LaunchFiles;
use crate::batch_system::{BatchSystem, JobEnd, JobId, JobStatus};
use crate::commands::Commands;
use crate::local::read_log_tail;
use crate::{BatchEnd, Exit, JobState, LaunchError, Outcome, Running, Submission};

/// The interval between queries to the batch system at first, and the later interval.
const ASK_SOON: Duration = Duration::from_secs(2);
const ASK_LATER: Duration = Duration::from_secs(10);
/// The time after which the later interval applies.
const SOON: Duration = Duration::from_secs(30);
/// The time for which a batch system may be unreachable before that is an error.
const PATIENCE: Duration = Duration::from_secs(600);
/// The time for which files of an ended job may stay invisible.
const FILES_PATIENCE: Duration = Duration::from_secs(3);
/// The additional time after a launch's limit before its whole job is cancelled; normally the job ends the launch.
const GRACE: Duration = Duration::from_secs(90);
/// The time that a cancelled job may take to end.
pub(crate) const CANCEL_PATIENCE: Duration = Duration::from_secs(180);
const CANCEL_PAUSE: Duration = Duration::from_millis(500);

/// The exit code of a script that the batch system has terminated.
const ASKED_TO_END: i32 = 143;

pub(super) struct BatchRun {
    system: &'static dyn BatchSystem,
    commands: Commands<'static>,
    job: JobId,
    folder: JobFolder,
    number: String,
    log: PathBuf,
    output: PathBuf,
    timeout: Option<Duration>,
    standing: JobState,
    followed: Instant,
    ask_at: Instant,
    /// Whether the batch system has known the job while it was followed, or when it was submitted just before.
    was_known: bool,
    /// The time since which the batch system has not answered.
    silent: Option<Instant>,
    over: Option<ReportedEnd>,
    exit: Option<Exit>,
}

/// The end of a job as its batch system reports it.
struct ReportedEnd {
    /// The time since which it is known.
    since: Instant,
    end: JobEnd,
    failed_nodes: Vec<String>,
}

impl BatchRun {
    pub(super) fn follow(
        system: &'static dyn BatchSystem,
        commands: Commands<'static>,
        submission: &Submission,
        files: &LaunchFiles,
        timeout: Option<Duration>,
    ) -> Self {
        let now = Instant::now();
        Self {
            system,
            commands,
            job: super::job_id(submission),
            folder: JobFolder::at_path(submission.allocation.clone()),
            number: files.number.clone(),
            log: files.log.clone(),
            output: submission.output.clone(),
            timeout,
            standing: JobState::Queued {
                id: submission.id.clone(),
                reason: None,
            },
            followed: now,
            ask_at: now,
            was_known: false,
            silent: None,
            over: None,
            exit: None,
        }
    }

    /// The same for a job that the batch system knows.
    pub(super) fn known_to_system(self) -> Self {
        Self {
            was_known: true,
            ..self
        }
    }

    fn check_progress(&mut self) -> Result<(), LaunchError> {
        match self.folder.read_stage(&self.number)? {
            Stage::Ended(outcome) => {
                self.conclude_with(outcome, Vec::new());
                return Ok(());
            }
            Stage::Begun { since } => {
                self.mark_running();
                let allowed = self.timeout.map(|timeout| timeout + GRACE);
                let taken = SystemTime::now().duration_since(since).unwrap_or_default();
                if allowed.is_some_and(|allowed| taken > allowed) {
                    return self.cancel_job(Outcome::TimedOut);
                }
            }
            Stage::Waiting { closed: Some(code) } if code != ASKED_TO_END => {
                if self.folder.withdraw_order(&self.number)? {
                    self.conclude_unbegun(JobEnd::Exited(code), Vec::new());
                    return Ok(());
                }
            }
            Stage::Waiting { .. } if self.folder.read_ready_job().is_some() => self.mark_running(),
            Stage::Waiting { .. } => {}
        }
        if let Some(over) = &self.over {
            if over.since.elapsed() > FILES_PATIENCE {
                self.conclude_unreported()?;
            }
            return Ok(());
        }
        if Instant::now() < self.ask_at {
            Ok(())
        } else {
            self.query_status()
        }
    }

    fn mark_running(&mut self) {
        if !matches!(&self.standing, JobState::Running { nodes } if !nodes.is_empty()) {
            let nodes = self.folder.nodes();
            self.standing = JobState::Running { nodes };
        }
    }

    /// Asks the batch system for the job's status.
    fn query_status(&mut self) -> Result<(), LaunchError> {
        let is_new = self.followed.elapsed() < SOON;
        self.ask_at = Instant::now() + if is_new { ASK_SOON } else { ASK_LATER };
        let status = match self.system.query_status(&self.commands, &self.job) {
            Err(error @ LaunchError::Silent { .. }) => {
                let since = *self.silent.get_or_insert_with(Instant::now);
                return if since.elapsed() > PATIENCE {
                    Err(error)
                } else {
                    Ok(())
                };
            }
            answer => answer?,
        };
        self.silent = None;
        if status == JobStatus::LOST && self.is_known_by_name() {
            return Ok(());
        }
        self.was_known |= status != JobStatus::LOST;
        match status {
            JobStatus::Queued { reason } => {
                let id = self.job.id.clone();
                self.standing = JobState::Queued { id, reason };
            }
            JobStatus::Running => self.mark_running(),
            JobStatus::Ended { end, failed_nodes } => {
                self.over = Some(ReportedEnd {
                    since: Instant::now(),
                    end,
                    failed_nodes,
                });
            }
        }
        Ok(())
    }

    /// Whether the batch system knows a job of this name, though not by its id.
    fn is_known_by_name(&self) -> bool {
        matches!(
            self.system.find_job_named(&self.commands, &self.job.name),
            Ok(Some(_))
        )
    }

    /// Concludes the launch's outcome from the job's end, if the job has not written it.
    fn conclude_unreported(&mut self) -> Result<(), LaunchError> {
        let Some(ReportedEnd {
            end,
            failed_nodes: nodes,
            ..
        }) = self.over.take()
        else {
            return Ok(());
        };
        match (self.folder.read_stage(&self.number)?, end) {
            (Stage::Ended(outcome), _) => self.conclude_with(outcome, Vec::new()),
            (Stage::Waiting { .. }, end) if self.folder.withdraw_order(&self.number)? => {
                if end == JobEnd::By(BatchEnd::Lost) {
                    // It may still wait: without an order it would only occupy its nodes.
                    let JobId { name, cluster, .. } = &self.job;
                    let cluster = cluster.as_deref();
                    let _ = self.system.cancel_jobs_named(&self.commands, name, cluster);
                }
                self.conclude_unbegun(end, nodes);
            }
            (_, end) => self.conclude_with(end.launch_outcome(true), nodes),
        }
        Ok(())
    }

    /// Handles a job that ended before it began the launch.
    fn conclude_unbegun(&mut self, end: JobEnd, nodes: Vec<String>) {
        // The reason is in the script's output, since nothing else ran.
        self.log.clone_from(&self.output);
        let outcome = match end {
            // Whether it has ended is in doubt.
            JobEnd::By(BatchEnd::Lost) if self.was_known => Outcome::Ended(BatchEnd::Lost),
            other => other.launch_outcome(false),
        };
        self.conclude_with(outcome, nodes);
    }

    fn conclude_with(&mut self, outcome: Outcome, failed_nodes: Vec<String>) {
        self.standing = JobState::Ended;
        // An unreadable log must not hide the launch's outcome.
        let tail = read_log_tail(&self.log).unwrap_or_default();
        self.exit = Some(Exit {
            outcome,
            log: self.log.clone(),
            tail,
            failed_nodes,
        });
    }

    /// Cancels the whole job; the launch gets this outcome unless it has already ended.
    fn cancel_job(&mut self, outcome: Outcome) -> Result<(), LaunchError> {
        if self.exit.is_some() {
            return Ok(());
        }
        self.folder.withdraw_order(&self.number)?;
        cancel_and_wait(self.system, &self.commands, &self.job)?;
        match self.folder.read_stage(&self.number)? {
            Stage::Ended(ended) => self.conclude_with(ended, Vec::new()),
            Stage::Waiting { .. } | Stage::Begun { .. } => self.conclude_with(outcome, Vec::new()),
        }
        Ok(())
    }
}

/// Cancels a job and waits until it is gone.
///
/// # Errors
/// [`LaunchError::NotCancelled`], or [`LaunchError::Silent`] if the batch system does not answer for as long.
pub(crate) fn cancel_and_wait(
    system: &dyn BatchSystem,
    commands: &Commands,
    job: &JobId,
) -> Result<(), LaunchError> {
    let begun = Instant::now();
    let mut cancelled = false;
    loop {
        let mut answer = if cancelled {
            Ok(())
        } else {
            system.cancel_job(commands, job)
        };
        cancelled = answer.is_ok();
        if cancelled {
            answer = match system.query_status(commands, job) {
                Ok(JobStatus::Ended { .. }) => return Ok(()),
                status => status.map(drop),
            };
        }
        if begun.elapsed() > CANCEL_PATIENCE {
            answer?;
            return Err(LaunchError::NotCancelled {
                id: job.id.clone(),
                seconds: CANCEL_PATIENCE.as_secs(),
            });
        }
        match answer {
            Ok(()) | Err(LaunchError::Silent { .. }) => thread::sleep(CANCEL_PAUSE),
            Err(error) => return Err(error),
        }
    }
}

impl Running for BatchRun {
    fn poll(&mut self) -> Result<Option<Exit>, LaunchError> {
        if self.exit.is_none() {
            self.check_progress()?;
        }
        Ok(self.exit.clone())
    }

    fn id(&self) -> Option<&str> {
        Some(&self.job.id)
    }

    fn last_known_state(&self) -> JobState {
        self.standing.clone()
    }

    fn kill(&mut self) -> Result<(), LaunchError> {
        self.cancel_job(Outcome::Killed)
    }
}
