//! Estimated times of confirming launches.

use std::collections::BTreeMap;

use benchmarking::least_calls;
use campaign::Campaign;
use fit::{Stake, Trial};
use statistics::median;
use vocabulary::{Cell, Pattern};

use crate::History;

/// The estimated time of a candidate's turn in a cell, in seconds.
pub(super) struct TurnCosts<'a> {
    /// The median over the launches that have measured a cell, by pattern of calls and cell.
    measured: Vec<BTreeMap<Cell, f64>>,
    patterns: &'a [Pattern],
    /// The expected time of a call by cell, in seconds.
    calls: BTreeMap<Cell, f64>,
    /// The fewest repetitions.
    minimum: u32,
}

impl<'a> TurnCosts<'a> {
    pub(super) fn from_history(
        campaign: &Campaign,
        history: &History,
        patterns: &'a [Pattern],
        stakes: &[Vec<Stake>],
    ) -> Self {
        let known = stakes.iter().flatten();
        let calls = known.filter_map(|stake| Some((stake.cell, stake.call_seconds?)));
        let medians_in = |pattern: &Pattern| {
            let confirmed = history.confirmed_in(*pattern);
            let turns = confirmed.into_iter().flat_map(|found| &found.turn_seconds);
            let medians = turns.filter_map(|(cell, seconds)| Some((*cell, median(seconds)?)));
            medians.collect::<BTreeMap<Cell, f64>>()
        };
        Self {
            measured: patterns.iter().map(medians_in).collect(),
            patterns,
            calls: calls.collect(),
            minimum: campaign.repetitions.minimum,
        }
    }

    /// The time of all turns that a trial still needs, if each turn has this slice.
    pub(super) fn trial_seconds(&self, trial: &Trial, slice_seconds: f64) -> f64 {
        let (cell, pattern) = (&trial.cell, trial.pattern);
        let expected = || self.corrected_turn_seconds(cell, pattern, slice_seconds);
        let turn = self.measured[pattern].get(cell).copied();
        let launches = f64::from(trial.wanted.saturating_sub(trial.done));
        launches * trial.candidates.len() as f64 * turn.unwrap_or_else(expected)
    }

    /// The expected time of a turn, corrected by the ratio of measured to expected time in the nearest measured cell.
    fn corrected_turn_seconds(&self, cell: &Cell, pattern: usize, slice_seconds: f64) -> f64 {
        let distance = |other: &Cell| {
            let ratio = |a: u64, b: u64| (a.max(1) as f64 / b.max(1) as f64).ln().abs();
            let ranks = |any_cell: &Cell| u64::from(any_cell.shape.ranks());
            let size = ratio(other.bytes, cell.bytes);
            (
                other.collective != cell.collective,
                ratio(ranks(other), ranks(cell)) + size,
            )
        };
        let nearest = self.measured[pattern].iter().min_by(|(a, _), (b, _)| {
            let ((other_a, far_a), (other_b, far_b)) = (distance(a), distance(b));
            other_a.cmp(&other_b).then(far_a.total_cmp(&far_b))
        });
        let expected =
            |any_cell: &Cell| self.expected_turn_seconds(any_cell, pattern, slice_seconds);
        let ratio = nearest.map(|(other, seconds)| seconds / expected(other));
        let ratio = ratio.filter(|ratio| ratio.is_finite());
        ratio.unwrap_or(1.0) * expected(cell)
    }

    /// The expected time of a turn before any is measured: the slice, or the time of the fewest calls if that is longer.
    fn expected_turn_seconds(&self, cell: &Cell, pattern: usize, slice_seconds: f64) -> f64 {
        let call = self.calls.get(cell).copied().unwrap_or(0.0);
        let calls = least_calls(self.patterns[pattern], call, self.minimum);
        slice_seconds.max(f64::from(calls) * call)
    }
}
