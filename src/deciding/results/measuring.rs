//! The cost of measuring, and the quality of the measured times.

use schemars::JsonSchema;
use serde::Serialize;
use statistics::PairedRatio;
use thiserror::Error;
use vocabulary::defaults::CONFIDENCE;
use vocabulary::units::{format_count, format_seconds};
use vocabulary::{Candidate, Cell};
use wire::Shares;

use crate::by_name;

/// The cost of measuring, over all launches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuringCost {
    /// Wall-clock seconds, warm-up and synchronisation included.
    pub seconds: f64,
    /// The part of `seconds` spent in confirming launches.
    pub confirming_seconds: f64,
    /// The time of launches beside `seconds`: starting and ending them, and measurements that were not finished; 0 on
    /// simulated machines. Budgets include it.
    pub launching_seconds: f64,
    /// Launches with at least one measurement.
    pub launches: usize,
    /// Cells with at least one measurement.
    pub cells: usize,
    /// Raw repetitions.
    pub repetitions: u64,
    /// The part of `seconds` spent in calls with recorded times.
    pub call_seconds: f64,
    /// The shares of the time by activity, if they are known.
    pub shares: Option<Shares>,
    /// Candidates that were eliminated early.
    pub races: Races,
    /// The estimated cost without a guided search; `None` if everything was measured.
    pub effort: Option<Effort>,
    /// The noise between launches and what it hides; `None` if too few launches compared candidates.
    pub detectable: Option<DetectableGain>,
}

/// The noise between launches, and the gain that fresh launches find in spite of it.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct DetectableGain {
    /// The standard deviation, between launches, of the logarithm of a candidate's speed-up over the default: 0.03 means
    /// that speed-ups vary by about 3 %.
    pub noise: f64,
    /// The smallest true gain, the default's time divided by the candidate's, that is confirmed in four of five cases.
    pub gain: f64,
}

/// The estimated cost of measuring everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Wall-clock seconds.
    pub exhaustive_seconds: f64,
    /// Nodes that each launch used.
    pub nodes: u32,
}

/// The way in which ranks were given common starts; displayed as a clause.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Starts {
    /// Ranks pass a dissemination barrier before each repetition.
    #[error("by a dissemination barrier")]
    Barrier,
    /// Ranks start at times agreed upon on a global clock.
    #[error(
        "at times agreed upon on a global clock; {} of {} repetitions invalid, clocks apart by at most {}",
        format_count(*invalid),
        format_count(*repetitions),
        format_seconds(*residual_seconds)
    )]
    Windows {
        /// Repetitions for which a rank was late, or that overran into the next one.
        invalid: u64,
        /// All repetitions, valid and invalid.
        repetitions: u64,
        /// The largest disagreement of the ranks' clocks.
        residual_seconds: f64,
    },
}

/// Early eliminations of candidates, over all cells and launches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Races {
    /// The number of eliminations.
    pub left: u64,
    /// The estimated measuring time that they saved, in seconds.
    pub saved_seconds: f64,
}

/// The share of invalid repetitions of a candidate above which the reader is warned.
pub const OFTEN_INVALID: f64 = 0.1;

/// Properties of the repetitions that a reader of the times should know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepetitionCounts {
    /// Cells in which a repetition had several calls, as one was too short for the clock.
    pub batched_cells: usize,
    /// The most calls in one of these repetitions.
    pub most_calls: u32,
    /// Launches of a candidate in a cell that were left out because their repetitions had another number of calls than
    /// in most launches of the cell.
    pub other_batches: u64,
    /// Candidates with a share of more than [`OFTEN_INVALID`] of invalid repetitions, by cell.
    pub often_invalid: Vec<OftenInvalid>,
    /// Candidates without a valid repetition, by cell.
    pub never_valid: Vec<OftenInvalid>,
    /// The time of [`Candidate::Placebo`], the default under another name, divided by that of the default, by cell.
    pub placebos: Vec<(Cell, PairedRatio)>,
}

impl RepetitionCounts {
    /// The cells in which the placebo's time differs significantly from the default's, so that other ratios are biased
    /// by the same factor.
    pub fn biased_cells(&self) -> impl Iterator<Item = &(Cell, PairedRatio)> {
        let is_sure = |ratio: &PairedRatio| ratio.interval.coverage >= CONFIDENCE;
        let found = self.placebos.iter();
        found.filter(move |(_, ratio)| is_sure(ratio) && ratio.interval.excludes(1.0))
    }
}

/// A candidate with many invalid repetitions, or with invalid repetitions only.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OftenInvalid {
    /// The candidate's full name.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub candidate: Candidate,
    /// The cell; not serialized.
    #[serde(skip)]
    pub cell: Cell,
    /// The number of invalid repetitions; not serialized.
    #[serde(skip)]
    pub invalid: u64,
    /// The number of all repetitions, valid and invalid.
    pub repetitions: u64,
}
