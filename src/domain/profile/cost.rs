//! The cost of calls of one shape.

use serde::{Deserialize, Serialize};

use crate::Time;

/// The calls of one shape, of all ranks together: an allreduce among 4 ranks is 4 calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallCost {
    /// The number of calls; of persistent collectives, the number of times that they were started.
    pub calls: u64,
    /// The time in them; of nonblocking and persistent ones, the time in the calls that start and complete them.
    #[serde(rename = "seconds")]
    pub time: Time,
    /// The longest one.
    #[serde(rename = "longest_seconds")]
    pub longest: Time,
    /// The lengths of all calls together in bytes.
    pub bytes: u64,
    /// The number of these calls that arrival times are known of.
    pub sampled_calls: u64,
    /// The time in those.
    #[serde(rename = "sampled_seconds")]
    pub sampled: Time,
    /// The part of that before the last rank arrived.
    #[serde(rename = "waiting_seconds")]
    pub waiting: Time,
}

impl CallCost {
    /// Adds other calls of the same shape.
    pub fn add_calls(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.time += other.time;
        self.longest = self.longest.max(other.longest);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.sampled_calls = self.sampled_calls.saturating_add(other.sampled_calls);
        self.sampled += other.sampled;
        self.waiting += other.waiting;
    }

    /// The mean length of a call in bytes.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / self.calls.max(1) as f64
    }

    /// The estimated part of the time that was spent waiting for the last rank to arrive; `None` without samples.
    #[must_use]
    pub fn waiting_share(&self) -> Option<f64> {
        let is_known = self.sampled_calls > 0 && !self.sampled.is_zero();
        is_known.then(|| self.waiting.share_of(self.sampled).min(1.0))
    }
}
