//! The cost of a search, beside the estimated cost of measuring everything.

use std::collections::BTreeMap;

use results::{Effort, MeasuringCost};
use statistics::median;
use vocabulary::{Cell, Sample, Subject};

/// The measurements of a guided campaign if it measured everything.
#[derive(Clone, Debug, PartialEq)]
pub struct ExhaustiveCampaign {
    /// Cells with their numbers of candidates.
    pub cells: Vec<(Cell, usize)>,
    /// The number of launches per cell.
    pub launches: u32,
    /// The number of nodes that each launch occupies.
    pub nodes: u32,
}

/// Estimates what a guided campaign has saved; `None` before anything was measured twice.
///
/// A turn that was not measured is assumed to take the median of the turns measured in the cell in launches after the
/// first look, or else in the nearest cell of the collective, by shape and then by size. The estimate ignores that
/// racing may make an exhaustive campaign cheaper and that much slower candidates make it more expensive. An exhaustive
/// campaign would also confirm its choices, which takes as long again.
pub(crate) fn estimate_effort(
    everything: &ExhaustiveCampaign,
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
        calls += count * nearest_turn(&turns, cell)?;
    }
    Some(Effort {
        // Start-up and warm-up are taken to grow in proportion.
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
fn nearest_turn(turns: &BTreeMap<Cell, f64>, cell: &Cell) -> Option<f64> {
    let distance = |other: &Cell| {
        let ratio = |a: f64, b: f64| (a.max(1.0) / b.max(1.0)).ln().abs();
        let ranks = |either: &Cell| f64::from(either.shape.ranks());
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
