//! The states of launches in batch jobs, by name.

use launcher::{BatchEnd, JobState, Outcome, RecordedState};
use schemars::JsonSchema;
use serde::Serialize;

/// The state of a launch that was submitted to a batch system.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LaunchState {
    /// The state of the job.
    #[serde(rename = "state")]
    #[schemars(extend("enum" = [
        "queued", "running", "done", "failed", "wall_time", "cancelled", "preempted", "node_failed", "out_of_memory",
        "not_begun", "lost", "timed_out", "killed", "ended", "unknown"
    ]))]
    pub name: &'static str,
    /// The reason why it waits, in the scheduler's words.
    pub reason: Option<String>,
    /// The names of the nodes on which it runs.
    #[serde(rename = "on")]
    pub nodes: Vec<String>,
    /// The exit code of a launch that failed.
    pub code: Option<i32>,
}

impl From<&RecordedState> for LaunchState {
    fn from(state: &RecordedState) -> Self {
        let plain = |name| Self {
            name,
            reason: None,
            nodes: Vec::new(),
            code: None,
        };
        let failed = |code| Self {
            code: Some(code),
            ..plain("failed")
        };
        match state {
            RecordedState::Current(JobState::Queued { reason, .. }) => Self {
                reason: reason.clone(),
                ..plain("queued")
            },
            RecordedState::Current(JobState::Running { nodes }) => Self {
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
}
