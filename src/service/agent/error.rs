//! Errors of agents.

use std::time::Duration;

use client::RemoteError;
use explained::Explained;
use service::ServiceError;
use thiserror::Error;
use vocabulary::ErrorKind;

/// An error of an agent.
#[derive(Debug, Error, Explained)]
pub enum AgentError {
    /// A request failed.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Remote(#[from] RemoteError),
    /// What the agent keeps itself failed.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Service(#[from] ServiceError),
}

impl AgentError {
    /// The time after which the service wants to be asked again.
    pub(crate) fn retry_after(&self) -> Duration {
        match self {
            Self::Remote(RemoteError::Refused { problem, .. }) => {
                Duration::from_secs(problem.retry_after.unwrap_or_default())
            }
            _ => Duration::ZERO,
        }
    }
}

/// What a refusal of a request about a claim means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The claim is void: another agent has the task, it has ended, or the service does not know it.
    Void,
    /// The service cannot take what was sent, now or later.
    Content,
    /// The request may succeed later.
    Later,
}

impl Refusal {
    /// The meaning of an error.
    pub(crate) fn of_error(error: &RemoteError) -> Self {
        match error {
            RemoteError::Refused { problem, .. } => match problem.status {
                404 | 409 => Self::Void,
                400 | 413 | 415 | 422 => Self::Content,
                _ => Self::Later,
            },
            _ => Self::Later,
        }
    }
}

#[cfg(test)]
mod tests {
    use client::ServiceProblem;

    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        for (status, expected) in [
            (404, Refusal::Void),
            (409, Refusal::Void),
            (422, Refusal::Content),
            (413, Refusal::Content),
            // A revoked token may be replaced.
            (401, Refusal::Later),
            (403, Refusal::Later),
            (429, Refusal::Later),
            (507, Refusal::Later),
        ] {
            let problem = ServiceProblem {
                status,
                detail: String::new(),
                closed_gates: Vec::new(),
                retry_after: Some(7),
            };
            let url = "https://tables.site".to_owned();
            let error = RemoteError::Refused { url, problem };
            assert_eq!(Refusal::of_error(&error), expected, "{status}");
            assert_eq!(
                AgentError::from(error).retry_after(),
                Duration::from_secs(7)
            );
        }
    }
}
