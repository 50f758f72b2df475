//! What fresh launches take.

use std::collections::BTreeMap;

use benchmarking::least_calls;
use campaign::Campaign;
use fit::{Stake, Trial};
use statistics::median;
use store::{Store, StoreError};
use vocabulary::{Cell, Library, Pattern};

/// What a candidate's turns in a cell take in one launch.
pub(super) struct Turns<'a> {
    /// By pattern of calls and cell, the median of the launches that have measured it.
    measured: Vec<BTreeMap<Cell, f64>>,
    /// What is expected is multiplied by it: how much longer than expected the measured ones took.
    factor: f64,
    expected: Expected<'a>,
}

/// What turns take by what is asked of them.
struct Expected<'a> {
    patterns: &'a [Pattern],
    /// The time of a call.
    calls: BTreeMap<Cell, f64>,
    slice_seconds: f64,
    minimum: u32,
}

impl<'a> Turns<'a> {
    pub(super) fn of(
        campaign: &Campaign,
        store: &Store,
        library: &Library,
        patterns: &'a [Pattern],
        stakes: &[Vec<Stake>],
        slice_seconds: f64,
    ) -> Result<Self, StoreError> {
        let known = stakes.iter().flatten();
        let calls = known.filter_map(|stake| Some((stake.cell, stake.default_seconds?)));
        let expected = Expected {
            patterns,
            calls: calls.collect(),
            slice_seconds,
            minimum: campaign.repetitions.minimum,
        };
        let mut measured = Vec::new();
        for pattern in patterns {
            let turns = store.confirming_turns(library, *pattern)?.into_iter();
            let medians = turns.filter_map(|(cell, seconds)| Some((cell, median(&seconds)?)));
            measured.push(medians.collect::<BTreeMap<Cell, f64>>());
        }
        let ratios = (0..patterns.len()).flat_map(|pattern| {
            let expected = &expected;
            let of_pattern = measured[pattern].iter();
            of_pattern.map(move |(cell, seconds)| seconds / expected.seconds(cell, pattern))
        });
        let ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
        Ok(Self {
            factor: median(&ratios).unwrap_or(1.0),
            measured,
            expected,
        })
    }

    /// What the launches take that a trial still needs, `launches` in all.
    pub(super) fn seconds(&self, trial: &Trial, launches: u32) -> f64 {
        let (cell, pattern) = (&trial.cell, trial.pattern);
        let expected = || self.factor * self.expected.seconds(cell, pattern);
        let turn = self.measured[pattern].get(cell).copied();
        let launches = f64::from(launches.saturating_sub(trial.done));
        launches * trial.candidates.len() as f64 * turn.unwrap_or_else(expected)
    }
}

impl Expected<'_> {
    /// A slice, or the fewest calls if these take longer.
    fn seconds(&self, cell: &Cell, pattern: usize) -> f64 {
        let call = self.calls.get(cell).copied().unwrap_or(0.0);
        let calls = least_calls(self.patterns[pattern], call, self.minimum);
        self.slice_seconds.max(f64::from(calls) * call)
    }
}
