//! The failure of a candidate, and the agreement of all ranks on it.

use serde::{Deserialize, Serialize};
use vocabulary::units::format_seconds;
use wire::{FailureKind, Record};

use crate::Attempt;

/// The failure for which a candidate is left out of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// A description of the failure.
    pub message: String,
}

impl Failure {
    /// The failure of a candidate that cannot be measured.
    pub fn unsupported(message: String) -> Self {
        Self {
            kind: FailureKind::Unsupported,
            message,
        }
    }

    /// The record of the failure of a task's candidate.
    pub fn into_record(self, task: u32, candidate: u32) -> Record {
        let Self { kind, message } = self;
        Record::Failed {
            task,
            candidate,
            kind,
            message,
        }
    }

    /// The failure of a candidate that its cell cannot afford, by the times of a call.
    pub(crate) fn too_slow(call_seconds: f64, fastest_seconds: f64) -> Self {
        Self {
            kind: FailureKind::TooSlow,
            message: format!(
                "one call took {}, that of another candidate {}: it was not repeated",
                format_seconds(call_seconds),
                format_seconds(fastest_seconds)
            ),
        }
    }
}

/// The ranks that measure together, from the view of one of them.
pub trait Ranks {
    /// An error that ends the launch.
    type Error: From<serde_json::Error>;

    /// The rank's number, from 0.
    fn rank(&self) -> u32;

    /// The number of ranks.
    fn size(&self) -> u32;

    /// Replaces each number by the maximum over all ranks. Collective.
    fn maximum_over_ranks(&self, values: &mut [f64]) -> Result<(), Self::Error>;

    /// Broadcasts one rank's bytes. Collective.
    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: u32) -> Result<(), Self::Error>;

    /// Distributes a failure to all ranks: that of the lowest rank with one. Collective.
    fn agree_on_failure<T>(&self, mine: Result<T, Failure>) -> Attempt<T, Self::Error> {
        let size = self.size();
        let mut failing = [match &mine {
            Ok(_) => 0.0,
            Err(_) => f64::from(size - self.rank()),
        }];
        self.maximum_over_ranks(&mut failing)?;
        if failing[0] == 0.0 {
            return Ok(mine);
        }
        let mut text = match &mine {
            Ok(_) => Vec::new(),
            Err(failure) => serde_json::to_vec(failure)?,
        };
        self.broadcast_bytes(&mut text, size - failing[0] as u32)?;
        Ok(Err(serde_json::from_slice(&text)?))
    }
}
