//! The states of launches in batch jobs, by name.

use answers::{JobStateName, LaunchState};
use launcher::{BatchEnd, JobState, Outcome, RecordedState};

/// The state of a launch, for people and programs.
pub(crate) fn name_launch_state(state: &RecordedState) -> LaunchState {
    match state {
        RecordedState::Current(JobState::Queued { reason, .. }) => LaunchState {
            reason: reason.clone(),
            ..LaunchState::named(JobStateName::Queued)
        },
        RecordedState::Current(JobState::Running { nodes }) => LaunchState {
            nodes: nodes.clone(),
            ..LaunchState::named(JobStateName::Running)
        },
        RecordedState::Current(JobState::Ended) => LaunchState::named(JobStateName::Ended),
        RecordedState::Unknown => LaunchState::named(JobStateName::Unknown),
        RecordedState::Ended(outcome) => match outcome {
            Outcome::Success => LaunchState::named(JobStateName::Done),
            Outcome::Code(code) => failed_with_code(*code),
            Outcome::Signal(signal) => failed_with_code(128 + signal),
            Outcome::TimedOut => LaunchState::named(JobStateName::TimedOut),
            Outcome::Killed => LaunchState::named(JobStateName::Killed),
            Outcome::Ended(end) => LaunchState::named(match end {
                BatchEnd::WallTime => JobStateName::WallTime,
                BatchEnd::Cancelled => JobStateName::Cancelled,
                BatchEnd::Preempted => JobStateName::Preempted,
                BatchEnd::NodeFailed => JobStateName::NodeFailed,
                BatchEnd::OutOfMemory => JobStateName::OutOfMemory,
                BatchEnd::NotBegun => JobStateName::NotBegun,
                BatchEnd::Lost => JobStateName::Lost,
            }),
        },
    }
}

fn failed_with_code(code: i32) -> LaunchState {
    LaunchState {
        code: Some(code),
        ..LaunchState::named(JobStateName::Failed)
    }
}
