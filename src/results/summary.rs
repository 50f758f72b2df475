//! Samples in short: one line a candidate and subject.

use schemars::JsonSchema;
use serde::Serialize;
use statistics::Interval;
use vocabulary::{Candidate, Subject};

/// The confidence that intervals of medians are asked for, those of times as well as those of the
/// machine's parameters; what they attain depends on the number of launches.
///
/// It is the same whatever a campaign asks for: these intervals describe, and nothing is decided by
/// them. The ratios that decisions rest on have the confidence that the campaign asks for.
pub const CONFIDENCE: f64 = 0.95;

/// How much was measured of a candidate, and what of it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Counts {
    /// Launches with at least one repetition: the statistical unit.
    pub launches: u32,
    /// Launches in which it left the race, because another was faster for certain.
    pub left_launches: u32,
    /// Launches left out because their repetitions had another number of calls.
    pub other_batches: u32,
    /// Calls in a repetition: that of all launches of a cell, the greatest of those of an
    /// experiment.
    pub batch: u32,
    /// Valid repetitions in all launches.
    pub repetitions: u64,
    /// Repetitions in all launches that were taken and are not valid, beside these.
    pub invalid: u64,
}

/// All that was measured of one candidate of one subject. Times are seconds a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// What was measured.
    pub subject: Subject,
    /// The candidate.
    pub candidate: Candidate,
    /// The number of samples.
    pub counts: Counts,
    /// Median of the launches' medians.
    pub median_seconds: f64,
    /// Confidence interval of the median over launches: the spread between launches.
    pub interval: Interval,
    /// The median of each launch, by ascending launch number.
    pub launch_medians: Vec<(u32, f64)>,
}
