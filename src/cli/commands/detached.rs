//! Output about a job that continues without the command.

use std::path::Path;

use launcher::RecordedState;
use schemars::JsonSchema;
use serde::Serialize;
use tuner::{CampaignProgress, MeasurementContext, SubmittedJob, SubmittedLaunch};
use vocabulary::Library;

use super::launches::{State, describe, state};
use super::{CliError, Console};

/// Prints the job that continues, or that nothing is left to measure.
pub(super) fn print(
    at: &MeasurementContext,
    submitted: &SubmittedLaunch,
    console: Console,
) -> Result<(), CliError> {
    let CampaignProgress { done, total } = submitted.progress;
    let store = at.store();
    let measurements = format!("measurements in {}: {done} of {total}", store.display());
    let Some(SubmittedJob {
        launch,
        id,
        standing,
        is_new,
    }) = &submitted.job
    else {
        return console.remark(format_args!("nothing is left to submit; {measurements}"));
    };
    let standing = describe(&RecordedState::Current(standing.clone()));
    let what = match is_new {
        true => "is submitted",
        false => "was submitted before",
    };
    console.remark(format_args!(
        "launch {launch} {what} as job {id}: {standing}\n{measurements}\nRun the same command again to store \
         its measurements; `colltune cancel {id}` ends it."
    ))
}

/// The output of `--detach`.
#[derive(JsonSchema, Serialize)]
pub(super) struct Detached<'a> {
    /// The campaign.
    name: &'a str,
    /// The library that is measured.
    library: &'a Library,
    /// The file of the store.
    store: &'a Path,
    /// The job that continues; null if nothing is left to measure.
    job: Option<Job<'a>>,
    #[serde(flatten)]
    progress: CampaignProgress,
}

/// A job that continues without the command.
#[derive(JsonSchema, Serialize)]
struct Job<'a> {
    /// The number of the launch.
    launch: u32,
    /// The batch system's id of the job.
    id: &'a str,
    #[serde(flatten)]
    state: State,
    /// Whether it was submitted now.
    submitted: bool,
}

pub(super) fn outcome<'a>(
    at: &'a MeasurementContext,
    submitted: &'a SubmittedLaunch,
) -> Detached<'a> {
    let job = submitted.job.as_ref().map(|job| Job {
        launch: job.launch,
        id: &job.id,
        state: state(&RecordedState::Current(job.standing.clone())),
        submitted: job.is_new,
    });
    Detached {
        name: &at.campaign.name,
        library: &at.library,
        store: at.store(),
        job,
        progress: submitted.progress,
    }
}
