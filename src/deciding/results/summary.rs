//! Summaries of samples: one for each candidate and subject.

use schemars::JsonSchema;
use serde::Serialize;
use statistics::Interval;
use vocabulary::{Candidate, Subject};

/// Numbers of launches and repetitions of a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Counts {
    /// Launches with at least one repetition: the statistical unit.
    pub launches: u32,
    /// Launches in which it was eliminated because another candidate was significantly faster.
    pub left_launches: u32,
    /// Launches left out because their repetitions had another number of calls.
    pub other_batches: u32,
    /// Calls in a repetition: the same in all launches of a cell, the maximum over the launches of an experiment.
    pub batch: u32,
    /// Valid repetitions in all launches.
    pub repetitions: u64,
    /// Invalid repetitions in all launches, not counted in `repetitions`.
    pub invalid: u64,
}

/// The measurements of one candidate of one subject. Times are in seconds per call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The cell or experiment.
    pub subject: Subject,
    /// The candidate.
    pub candidate: Candidate,
    /// Launches and repetitions.
    pub counts: Counts,
    /// Median of the launches' medians.
    pub median_seconds: f64,
    /// Interval of that median with the confidence [`vocabulary::defaults::CONFIDENCE`], as far as the number of launches
    /// attains it.
    pub interval: Interval,
    /// The median of each launch, by ascending launch number.
    pub launch_medians: Vec<(u32, f64)>,
}
