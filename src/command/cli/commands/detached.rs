//! Output about measuring into a store, and about a job that continues without the command.

use std::path::Path;

use answers::{SubmittedJob, SubmittedLaunch};
use schemars::JsonSchema;
use serde::Serialize;
use tuner::MeasurementContext;
use vocabulary::{CampaignProgress, Library};

use super::launches::describe_launch_state;
use super::{CliError, Console};

/// Prints the job that continues, or that nothing is left to measure.
pub(super) fn print_submitted(
    at: &MeasurementContext,
    submitted: &SubmittedLaunch,
    console: Console,
) -> Result<(), CliError> {
    let CampaignProgress { done, total } = submitted.progress;
    let store = at.store_path();
    let measurements = format!("measurements in {}: {done} of {total}", store.display());
    let Some(SubmittedJob {
        launch,
        id,
        state,
        is_new,
    }) = &submitted.job
    else {
        return console.remark(format_args!("nothing is left to submit; {measurements}"));
    };
    let state = describe_launch_state(state);
    let what = if *is_new {
        "is submitted"
    } else {
        "was submitted before"
    };
    console.remark(format_args!(
        "launch {launch} {what} as job {id}: {state}\n{measurements}\nRun the same command again to store \
         its measurements; `colltune cancel {id}` ends it."
    ))
}

/// The outcome of measuring or submitting, with the campaign, its library and its store.
#[derive(JsonSchema, Serialize)]
pub(super) struct StoreOutcome<'a, T> {
    /// The campaign.
    name: &'a str,
    /// The library that is measured.
    library: &'a Library,
    /// The file of the store.
    store: &'a Path,
    #[serde(flatten)]
    outcome: &'a T,
}

impl<'a, T> StoreOutcome<'a, T> {
    pub(super) fn with_context(at: &'a MeasurementContext, outcome: &'a T) -> Self {
        Self {
            name: &at.campaign.name,
            library: &at.library,
            store: at.store_path(),
            outcome,
        }
    }
}
