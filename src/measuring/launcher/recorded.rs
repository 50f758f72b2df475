//! The jobs that are recorded in a folder of launches.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::batch::order::{JobFolder, Stage};
use super::batch::{cancel_and_wait, job_id};
use super::batch_system::{JobId, JobStatus, batch_system};
use super::commands::Commands;
use super::{BatchEnd, JobState, LaunchError, Outcome, Submission};

/// A launch that was submitted to a batch system.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedLaunch {
    /// The launch's number. One job may serve several launches.
    pub launch: u32,
    /// The submission of its job.
    pub submission: Submission,
    /// The state of the launch.
    pub state: RecordedState,
}

/// The state of a launch that was submitted to a batch system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedState {
    /// The launch waits or runs.
    Current(JobState),
    /// The launch has ended.
    Ended(Outcome),
    /// The launch's files do not contain its state, and the batch system does not answer.
    Unknown,
}

/// The submitted launches of `launches`, the folder `STORE.launches`, by number; empty if there is no such folder.
/// Commands are searched on `path`, the value of `$PATH`.
///
/// # Errors
/// Files that cannot be read or are invalid.
pub fn list_recorded_launches(
    launches: &Path,
    path: &OsStr,
) -> Result<Vec<RecordedLaunch>, LaunchError> {
    let submissions = read_submissions(launches)?;
    let mut stages = Vec::new();
    let mut asked: BTreeMap<String, Vec<JobId>> = BTreeMap::new();
    for (launch, submission) in submissions {
        let folder = JobFolder::at_path(submission.allocation.clone());
        // A job without its folder ends by itself.
        let stage = folder.read_stage(&format!("{launch:04}")).ok();
        if matches!(stage, Some(Stage::Waiting { .. } | Stage::Begun { .. })) {
            let jobs = asked.entry(submission.system.clone()).or_default();
            jobs.push(job_id(&submission));
        }
        stages.push((launch, submission, stage));
    }
    let commands = Commands::on_path(path);
    let mut known: BTreeMap<String, BTreeMap<JobId, JobStatus>> = BTreeMap::new();
    for (name, mut jobs) in asked {
        jobs.sort();
        jobs.dedup();
        if let Some(system) = batch_system(&name)
            && let Ok(answer) = system.query_statuses(&commands, &jobs)
        {
            known.insert(name, answer);
        }
    }
    let recorded = stages.into_iter().map(|(launch, submission, stage)| {
        let answer = known.get(&submission.system);
        let state = state_from_answer(&submission, stage, answer);
        RecordedLaunch {
            launch,
            submission,
            state,
        }
    });
    Ok(recorded.collect())
}

fn state_from_answer(
    submission: &Submission,
    stage: Option<Stage>,
    answer: Option<&BTreeMap<JobId, JobStatus>>,
) -> RecordedState {
    let begun = match stage {
        None => return RecordedState::Ended(Outcome::Ended(BatchEnd::Lost)),
        Some(Stage::Ended(outcome)) => return RecordedState::Ended(outcome),
        Some(Stage::Begun { .. }) => true,
        Some(Stage::Waiting { .. }) => false,
    };
    let Some(answer) = answer else {
        return RecordedState::Unknown;
    };
    let status = answer.get(&job_id(submission)).cloned();
    match status.unwrap_or(JobStatus::LOST) {
        JobStatus::Queued { reason } => RecordedState::Current(JobState::Queued {
            id: submission.id.clone(),
            reason,
        }),
        JobStatus::Running => {
            let nodes = JobFolder::at_path(submission.allocation.clone()).nodes();
            RecordedState::Current(JobState::Running { nodes })
        }
        JobStatus::Ended { end, .. } => RecordedState::Ended(end.launch_outcome(begun)),
    }
}

/// Cancels the waiting and running jobs of `launches`, or `only` those with these ids, and waits until they have ended.
/// Returns the cancelled jobs, each once. Orders that were not begun are withdrawn.
///
/// # Errors
/// Files that cannot be read; a batch system that does not answer, or does not end a job.
pub fn cancel_recorded_jobs(
    launches: &Path,
    only: Option<&[String]>,
    path: &OsStr,
) -> Result<Vec<Submission>, LaunchError> {
    let mut cancelled: Vec<Submission> = Vec::new();
    for job in list_recorded_launches(launches, path)? {
        let submission = job.submission;
        let is_meant = only.is_none_or(|ids| ids.contains(&submission.id));
        if !is_meant || matches!(job.state, RecordedState::Ended(_)) {
            continue;
        }
        let folder = JobFolder::at_path(submission.allocation.clone());
        folder.withdraw_order(&format!("{:04}", job.launch))?;
        if cancelled.iter().any(|other| other.id == submission.id) {
            continue;
        }
        if let Some(system) = batch_system(&submission.system) {
            cancel_and_wait(system, &Commands::on_path(path), &job_id(&submission))?;
            cancelled.push(submission);
        }
    }
    Ok(cancelled)
}

/// The submissions recorded in a folder `STORE.launches`, by number of the launch, without asking a batch system.
///
/// # Errors
/// Files that cannot be read.
pub fn read_submissions(launches: &Path) -> Result<BTreeMap<u32, Submission>, LaunchError> {
    let failed = |source| LaunchError::for_file("list", launches, source);
    let entries = match fs::read_dir(launches) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut found = BTreeMap::new();
    for entry in entries {
        let path: PathBuf = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(OsStr::to_str);
        let number = name.and_then(|name| name.strip_suffix(".job.json")?.parse().ok());
        if let Some(number) = number
            && let Some(submission) = Submission::read_from(&path)?
        {
            found.insert(number, submission);
        }
    }
    Ok(found)
}
