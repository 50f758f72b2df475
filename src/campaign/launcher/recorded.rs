//! The jobs that a folder of launches tells of.

use std::ffi::OsStr;
use std::path::Path;

use super::{BatchEnd, LaunchError, Submission};

/// A launch that was given to a batch system.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedJob {
    /// The launch's number. One job may serve several launches.
    pub launch: u32,
    /// How it was submitted.
    pub submission: Submission,
    /// Where the launch stands.
    pub state: JobState,
}

/// Where a launch stands that was given to a batch system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Its job waits for nodes.
    Queued {
        /// Why, in the scheduler's words, if it says.
        reason: Option<String>,
    },
    /// Its job runs.
    Running {
        /// On which nodes, if that is known.
        nodes: Vec<String>,
    },
    /// It ended in order.
    Completed,
    /// It failed.
    Failed {
        /// The code that its launcher, or its job, exited with.
        code: i32,
    },
    /// The batch system ended its job.
    Ended(BatchEnd),
}

/// The jobs that are recorded in `folder`, `STORE.launches`, by launch. Programs are looked for on
/// `path`, the value of `$PATH`. None if there is no such folder.
///
/// # Errors
/// Files that cannot be read; a batch system that does not answer.
pub fn recorded_jobs(folder: &Path, path: &OsStr) -> Result<Vec<RecordedJob>, LaunchError> {
    let _ = (folder, path);
    Ok(Vec::new())
}

/// Cancels the jobs of those that are queued or running, and waits until they are gone. Returns the ids
/// of the jobs that it cancelled: none if all have ended.
///
/// # Errors
/// A batch system that does not answer, or does not end a job.
pub fn cancel_jobs(jobs: &[RecordedJob], path: &OsStr) -> Result<Vec<String>, LaunchError> {
    let _ = (jobs, path);
    Ok(Vec::new())
}
