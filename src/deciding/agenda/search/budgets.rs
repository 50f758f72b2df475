//! The least times that the stages of a campaign take, from expected times of calls.

use std::collections::BTreeMap;

use benchmarking::least_calls;
use campaign::{Campaign, ConfirmationMode, Strategy};
use vocabulary::{Cell, Pattern};

/// The fewest repetitions of a candidate in a guided campaign's first look at a cell.
pub const FIRST_LOOK_MINIMUM: u32 = 5;
/// The average number of candidates per cell in a round of a search: the default, its strongest rival, and sometimes
/// others.
pub const TURNS_PER_ROUND: f64 = 2.5;
/// The average share of a campaign's cells that a search measures with several candidates.
pub const SHARE_OF_CELLS: f64 = 0.6;
/// The assumed share of the points at which a choice other than the default is proposed and has to be confirmed.
const SHARE_OF_PROPOSALS: f64 = 0.7;

/// The expected times of calls in a cell, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedCell {
    /// The cell.
    pub cell: Cell,
    /// The time of a call of the default or of a candidate that is about as fast.
    pub call_seconds: f64,
    /// The times of calls of the candidates that are measured first; empty for a cell that a search adds later.
    pub first: Vec<f64>,
}

/// The least times of the stages of a campaign in seconds, without starting programs: each candidate is repeated no more
/// often than it must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageTimes {
    /// Measuring each point once.
    pub once: f64,
    /// Measuring everything that choices are proposed from, in all launches.
    pub exploring: f64,
    /// Confirming the choices at all points with fresh launches; 0 if the campaign confirms nothing.
    pub confirming: f64,
}

/// Estimates the least times of a campaign's stages. `experiments` is the expected time of each experiment in seconds.
pub fn stage_times(campaign: &Campaign, cells: &[ExpectedCell], experiments: &[f64]) -> StageTimes {
    let minimum = campaign.repetitions.minimum;
    let turn = |seconds: f64, least: u32| turn_seconds(campaign.pattern, seconds, least);
    let experiment = |seconds: &f64| turn_seconds(Pattern::Together, *seconds, minimum);
    let experiments: f64 = experiments.iter().map(experiment).sum();
    // A search looks at some cells first, with few repetitions, and measures the default alone in cells that it does
    // not look at.
    let first_minimum = match campaign.strategy {
        Strategy::Guided => minimum.min(FIRST_LOOK_MINIMUM),
        Strategy::Exhaustive => minimum,
    };
    let first = |expected: &ExpectedCell| -> f64 {
        let alone = [expected.call_seconds];
        let candidates = if expected.first.is_empty() {
            &alone[..]
        } else {
            &expected.first[..]
        };
        candidates
            .iter()
            .map(|seconds| turn(*seconds, first_minimum))
            .sum()
    };
    let once: f64 = cells.iter().map(first).sum();
    let later_launches = f64::from(campaign.launches.saturating_sub(1));
    let a_later_launch: f64 = match campaign.strategy {
        Strategy::Guided => {
            let round = |expected: &ExpectedCell| turn(expected.call_seconds, minimum);
            SHARE_OF_CELLS * TURNS_PER_ROUND * cells.iter().map(round).sum::<f64>()
        }
        Strategy::Exhaustive => once,
    };
    StageTimes {
        once: experiments + once,
        exploring: experiments + once + later_launches * (experiments + a_later_launch),
        confirming: match campaign.confirmation {
            ConfirmationMode::On => confirming_seconds(campaign, cells),
            ConfirmationMode::Off => 0.0,
        },
    }
}

/// The time of the fewest calls of a candidate in a launch.
fn turn_seconds(pattern: Pattern, call_seconds: f64, minimum: u32) -> f64 {
    f64::from(least_calls(pattern, call_seconds, minimum)) * call_seconds
}

/// The least time for comparing a choice with the default at the proposed points, in seconds: in all launches, with all
/// patterns of calls, at each size and at one size between each two.
fn confirming_seconds(campaign: &Campaign, cells: &[ExpectedCell]) -> f64 {
    let mut rows: BTreeMap<Cell, Vec<(u64, f64)>> = BTreeMap::new();
    for ExpectedCell {
        cell, call_seconds, ..
    } in cells
    {
        let row = Cell { bytes: 0, ..*cell };
        rows.entry(row)
            .or_default()
            .push((cell.bytes, *call_seconds));
    }
    let mut calls = Vec::new();
    for mut row in rows.into_values() {
        row.sort_by_key(|(bytes, _)| *bytes);
        calls.extend(row.iter().map(|(_, seconds)| *seconds));
        calls.extend(row.windows(2).map(|pair| (pair[0].1 * pair[1].1).sqrt()));
    }
    let patterns = campaign.confirming_patterns();
    let minimum = campaign.repetitions.minimum;
    let in_all_patterns = |seconds: f64| -> f64 {
        let turns = patterns
            .iter()
            .map(|pattern| turn_seconds(*pattern, seconds, minimum));
        turns.sum()
    };
    let a_launch: f64 = calls.into_iter().map(in_all_patterns).sum();
    // The default and the choice take a turn each.
    2.0 * f64::from(campaign.launches) * SHARE_OF_PROPOSALS * a_launch
}
