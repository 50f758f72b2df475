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

impl LaunchState {
    fn named(name: &'static str) -> Self {
        Self {
            name,
            reason: None,
            nodes: Vec::new(),
            code: None,
        }
    }

    fn with_code(code: i32) -> Self {
        Self {
            code: Some(code),
            ..Self::named("failed")
        }
    }
}

impl From<&RecordedState> for LaunchState {
    fn from(state: &RecordedState) -> Self {
        match state {
            RecordedState::Current(JobState::Queued { reason, .. }) => Self {
                reason: reason.clone(),
                ..Self::named("queued")
            },
            RecordedState::Current(JobState::Running { nodes }) => Self {
                nodes: nodes.clone(),
                ..Self::named("running")
            },
            RecordedState::Current(JobState::Ended) => Self::named("ended"),
            RecordedState::Unknown => Self::named("unknown"),
            RecordedState::Ended(outcome) => match outcome {
                Outcome::Success => Self::named("done"),
                Outcome::Code(code) => Self::with_code(*code),
                Outcome::Signal(signal) => Self::with_code(128 + signal),
                Outcome::TimedOut => Self::named("timed_out"),
                Outcome::Killed => Self::named("killed"),
                Outcome::Ended(end) => Self::named(match end {
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
