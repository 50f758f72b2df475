//! What measuring has cost, and how far its times can be trusted.

use schemars::JsonSchema;
use serde::Serialize;
use statistics::PairedRatio;
use thiserror::Error;
use vocabulary::units::{format_count, format_seconds};
use vocabulary::{Candidate, Cell};
use wire::Shares;

use crate::{CONFIDENCE, by_name};

/// What measuring has cost, over all launches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuringCost {
    /// Wall-clock seconds, warm-up and synchronisation included.
    pub seconds: f64,
    /// Seconds of `seconds` in launches that confirmed choices.
    pub confirming_seconds: f64,
    /// Cells with at least one measurement.
    pub cells: usize,
    /// Raw repetitions.
    pub repetitions: u64,
    /// Seconds of `seconds` within the calls whose times are kept.
    pub call_seconds: f64,
    /// The parts of the time, if they are known.
    pub shares: Option<Shares>,
    /// What was not measured to the end.
    pub races: Races,
    /// What a guided search spared; absent if everything was measured.
    pub effort: Option<Effort>,
}

/// What measuring everything would have cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// About how long it would have taken.
    pub exhaustive_seconds: f64,
    /// Nodes that each launch held.
    pub nodes: u32,
}

/// How ranks were brought to common starts; displayed as a clause.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Starts {
    /// Ranks pass a dissemination barrier before each repetition.
    #[error("by a dissemination barrier")]
    Barrier,
    /// At times that they agreed upon, on a global clock.
    #[error(
        "at times agreed upon on a global clock; {} of {} repetitions invalid, clocks apart by at most {}",
        format_count(*invalid),
        format_count(*repetitions),
        format_seconds(*residual_seconds)
    )]
    Windows {
        /// Repetitions for which a rank was late, or that overran into the next one.
        invalid: u64,
        /// Repetitions, these included.
        repetitions: u64,
        /// The largest disagreement of the ranks' clocks.
        residual_seconds: f64,
    },
}

/// What became of races, over all cells and launches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Races {
    /// How often a candidate left.
    pub left: u64,
    /// About how much longer measuring would have taken without that, in seconds.
    pub saved_seconds: f64,
}

/// Where a larger share of a candidate's repetitions is invalid, the reader is warned.
pub const OFTEN_INVALID: f64 = 0.1;

/// What to know of the repetitions in cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepetitionCounts {
    /// Cells in which several calls made a repetition, as one was too short for the clock.
    pub batched_cells: usize,
    /// The most calls in one of these repetitions.
    pub most_calls: u32,
    /// Launches of a candidate in a cell that were left out, as another number of calls made a
    /// repetition than in most launches of the cell.
    pub other_batches: u64,
    /// Candidates with a share of more than [`OFTEN_INVALID`] of invalid repetitions, by cell.
    pub often_invalid: Vec<OftenInvalid>,
    /// Candidates of which no repetition is valid, so that nothing is known of them, by cell.
    pub never_valid: Vec<OftenInvalid>,
    /// The time of [`Candidate::Placebo`] divided by that of the default, which is the same, by cell.
    pub placebos: Vec<(Cell, PairedRatio)>,
}

impl RepetitionCounts {
    /// The cells in which the placebo does not take as long as the default for certain, so that other
    /// ratios are wrong by as much.
    pub fn biased(&self) -> impl Iterator<Item = &(Cell, PairedRatio)> {
        let is_sure = |ratio: &PairedRatio| ratio.interval.coverage >= CONFIDENCE;
        let found = self.placebos.iter();
        found.filter(move |(_, ratio)| is_sure(ratio) && ratio.interval.excludes(1.0))
    }
}

/// A candidate of which many repetitions are invalid, or all.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OftenInvalid {
    /// Its full name.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub candidate: Candidate,
    /// Where; not serialized.
    #[serde(skip)]
    pub cell: Cell,
    /// How many repetitions are invalid; not serialized.
    #[serde(skip)]
    pub invalid: u64,
    /// The number of repetitions, these included.
    pub repetitions: u64,
}
