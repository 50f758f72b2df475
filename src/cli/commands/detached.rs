//! What is said of a job that nobody waits for.

use serde_json::{Value, json};
use tuner::{Progress, Submitted, SubmittedJob, Workplace};

use super::launches::{describe, state};
use crate::console::Console;
use crate::error::CliError;
use launcher::RecordedState;

/// Says which job goes on, or that nothing is left to measure.
pub(super) fn tell(
    at: &Workplace,
    submitted: &Submitted,
    as_json: bool,
    console: Console,
) -> Result<(), CliError> {
    if as_json {
        return console.json(&outcome(at, submitted));
    }
    let Progress { done, total } = submitted.progress;
    let store = at.store();
    let measurements = format!("{done} of {total} measurements are in {}", store.display());
    let Some(SubmittedJob {
        launch,
        id,
        standing,
        is_new,
    }) = &submitted.job
    else {
        return console.remark(format_args!("nothing is left to submit; {measurements}"));
    };
    let standing = describe(&RecordedState::Standing(standing.clone()));
    let what = match is_new {
        true => "is submitted",
        false => "is under way",
    };
    console.remark(format_args!(
        "launch {launch} {what} as job {id}: {standing}\n{measurements}\nRun the same command again to take \
         in what it measures; `colltune cancel {id}` ends it."
    ))
}

/// The same for programs.
pub(super) fn outcome(at: &Workplace, submitted: &Submitted) -> Value {
    let job = submitted.job.as_ref().map(|job| {
        let state = state(&RecordedState::Standing(job.standing.clone()));
        json!({
            "launch": job.launch,
            "id": job.id,
            "state": state.name,
            "reason": state.reason,
            "nodes": state.nodes,
            "submitted": job.is_new,
        })
    });
    json!({
        "name": at.campaign.name,
        "library": at.library,
        "store": at.store(),
        "job": job,
        "done": submitted.progress.done,
        "total": submitted.progress.total,
    })
}
