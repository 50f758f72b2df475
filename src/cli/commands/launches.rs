//! Common parts of the verbs about jobs: the folders of launches, and the names of states.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use campaign::Campaign;
use launcher::{BatchEnd, JobState, Outcome, RecordedState};
use schemars::JsonSchema;
use serde::Serialize;
use tuner::TunerError;

use crate::error::CliError;

/// The default folder of stores.
const STORES: &str = ".colltune";

/// The folder of a campaign's launches.
pub(super) fn folder_of(campaign: &Path) -> Result<PathBuf, CliError> {
    let campaign = Campaign::load(campaign).map_err(TunerError::from)?;
    let mut folder = campaign.output.store.into_os_string();
    folder.push(".launches");
    Ok(folder.into())
}

/// The folders of launches of all campaigns in the working directory, by name.
pub(super) fn folders_here() -> Result<Vec<PathBuf>, CliError> {
    let stores = Path::new(STORES);
    let failed = |source| TunerError::File {
        action: "list",
        path: stores.to_owned(),
        source,
    };
    let entries = match fs::read_dir(stores) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source).into()),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".db.launches") && path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

/// The state of a job for JSON.
#[derive(JsonSchema, Serialize)]
pub(super) struct State {
    /// The state of the job.
    #[serde(rename = "state")]
    #[schemars(extend("enum" = [
        "queued", "running", "done", "failed", "wall_time", "cancelled", "preempted", "node_failed", "out_of_memory",
        "not_begun", "lost", "timed_out", "killed", "ended", "unknown"
    ]))]
    pub(super) name: &'static str,
    /// The reason why it waits, in the scheduler's words.
    pub(super) reason: Option<String>,
    /// The names of the nodes on which it runs.
    #[serde(rename = "on")]
    pub(super) nodes: Vec<String>,
    /// The exit code of a launch that failed.
    pub(super) code: Option<i32>,
}

pub(super) fn state(state: &RecordedState) -> State {
    let plain = |name| State {
        name,
        reason: None,
        nodes: Vec::new(),
        code: None,
    };
    let failed = |code| State {
        code: Some(code),
        ..plain("failed")
    };
    match state {
        RecordedState::Current(JobState::Queued { reason, .. }) => State {
            reason: reason.clone(),
            ..plain("queued")
        },
        RecordedState::Current(JobState::Running { nodes }) => State {
            nodes: nodes.clone(),
            ..plain("running")
        },
        RecordedState::Current(JobState::Ended) => plain("ended"),
        RecordedState::Unknown => plain("unknown"),
        RecordedState::Ended(outcome) => match outcome {
            Outcome::Success => plain("done"),
            Outcome::Code(code) => failed(*code),
            Outcome::Signal(signal) => failed(128 + signal),
            Outcome::TimedOut => plain("timed_out"),
            Outcome::Killed => plain("killed"),
            Outcome::Ended(end) => plain(match end {
                BatchEnd::WallTime => "wall_time",
                BatchEnd::Cancelled => "cancelled",
                BatchEnd::Preempted => "preempted",
                BatchEnd::NodeFailed => "node_failed",
                BatchEnd::OutOfMemory => "out_of_memory",
                BatchEnd::NotBegun => "not_begun",
                BatchEnd::Lost => "lost",
            }),
        },
    }
}

/// The state of a job as text.
pub(super) fn describe(recorded: &RecordedState) -> String {
    let state = state(recorded);
    let text = match state.name {
        "timed_out" => "took too long",
        "wall_time" => "wall time over",
        "node_failed" => "a node failed",
        "out_of_memory" => "out of memory",
        "not_begun" => "did not begin",
        name => name,
    };
    match (state.reason, state.code) {
        (Some(reason), _) => format!("{text} ({reason})"),
        (None, Some(code)) => format!("{text} with code {code}"),
        (None, None) if !state.nodes.is_empty() => format!("{text} on {}", state.nodes.join(", ")),
        (None, None) => text.to_owned(),
    }
}
