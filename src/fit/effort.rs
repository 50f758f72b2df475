//! What a search has spent, beside what measuring everything would have cost.

use std::collections::BTreeMap;

use results::{Effort, MeasuringCost};
use statistics::median;
use vocabulary::{Cell, Sample, Subject};

/// All that a guided campaign would measure if it measured everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Everything {
    /// Cells with their numbers of candidates.
    pub cells: Vec<(Cell, usize)>,
    /// Launches that each would be measured in.
    pub launches: u32,
    /// Nodes that each launch holds.
    pub nodes: u32,
}

/// What a guided campaign has saved; `None` before anything was measured twice.
///
/// What was not measured is taken to cost what a turn took that was, in a launch after the first look: the
/// median of those in the cell, or else in the nearest cell of the collective, by shape and then by size.
/// Racing may make an exhaustive campaign cheaper, candidates that are much slower make it dearer. Its choices
/// would be confirmed like those of the search: that takes as long again.
pub(crate) fn effort(
    everything: &Everything,
    samples: &[Sample],
    cost: &MeasuringCost,
) -> Option<Effort> {
    let exploring_calls: f64 = samples.iter().map(call_seconds).sum();
    if exploring_calls <= 0.0 {
        return None;
    }
    let mut first: BTreeMap<Cell, u32> = BTreeMap::new();
    for sample in samples {
        if let Subject::Cell(cell) = sample.subject {
            let known = first.entry(cell).or_insert(sample.launch);
            *known = sample.launch.min(*known);
        }
    }
    let mut turns: BTreeMap<Cell, Vec<f64>> = BTreeMap::new();
    let mut experiments = 0.0;
    for sample in samples {
        let seconds = call_seconds(sample);
        match sample.subject {
            Subject::Experiment(_) => experiments += seconds,
            Subject::Cell(cell) if first.get(&cell) != Some(&sample.launch) => {
                turns.entry(cell).or_default().push(seconds);
            }
            Subject::Cell(_) => {}
        }
    }
    let turns: BTreeMap<Cell, f64> = turns
        .into_iter()
        .filter_map(|(cell, seconds)| Some((cell, median(&seconds)?)))
        .collect();
    let mut calls = experiments;
    for (cell, candidates) in &everything.cells {
        let count = *candidates as f64 * f64::from(everything.launches);
        calls += count * nearest(&turns, cell)?;
    }
    Some(Effort {
        // Starts and warming up cost as much more as they did.
        exhaustive_seconds: calls * (cost.seconds - cost.confirming_seconds) / exploring_calls
            + cost.confirming_seconds,
        nodes: everything.nodes,
    })
}

/// The time within the calls of a sample, in seconds.
pub(crate) fn call_seconds(sample: &Sample) -> f64 {
    sample.seconds.iter().sum::<f64>() * f64::from(sample.batch)
}

/// The turn in a cell, or in the nearest one of the same collective.
fn nearest(turns: &BTreeMap<Cell, f64>, cell: &Cell) -> Option<f64> {
    let distance = |other: &Cell| {
        let ratio = |a: f64, b: f64| (a.max(1.0) / b.max(1.0)).ln().abs();
        let ranks = |cell: &Cell| f64::from(cell.shape.ranks());
        (
            ratio(ranks(other), ranks(cell)),
            ratio(other.bytes as f64, cell.bytes as f64),
        )
    };
    let alike = turns
        .iter()
        .filter(|(other, _)| other.collective == cell.collective);
    let nearest = alike.min_by(|(a, _), (b, _)| {
        let ((shape_a, size_a), (shape_b, size_b)) = (distance(a), distance(b));
        shape_a.total_cmp(&shape_b).then(size_a.total_cmp(&size_b))
    });
    nearest.map(|(_, seconds)| *seconds)
}
