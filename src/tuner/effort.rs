//! What a search has spent, beside what measuring everything would have cost.

use std::collections::BTreeMap;

use statistics::median;
use vocabulary::{Cell, CommShape, Sample, Subject};

use crate::Agenda;

/// What a guided campaign has spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Time spent measuring, in seconds; simulated ones of a simulated machine.
    pub spent_seconds: f64,
    /// About what every candidate in every cell in every launch would have taken.
    pub exhaustive_seconds: f64,
    /// Nodes that each launch held.
    pub nodes: u32,
}

/// The effort of a guided campaign; `None` of any other, and before anything was measured twice.
///
/// What was not measured is taken to cost what a turn took that was, in a launch after the first look: the
/// median of those in the cell, or else in the nearest cell of the collective, by shape and then by size.
/// Racing may make an exhaustive campaign cheaper, candidates that are much slower make it dearer.
pub(crate) fn effort(
    agenda: &Agenda,
    samples: &[Sample],
    spent_seconds: f64,
    call_seconds: f64,
    largest: CommShape,
) -> Option<Effort> {
    if !agenda.is_guided() || call_seconds <= 0.0 {
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
        let seconds = sample.seconds.iter().sum::<f64>() * f64::from(sample.batch);
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
    for (cell, candidates) in &agenda.cells {
        let count = candidates.len() as f64 * f64::from(agenda.launches);
        calls += count * nearest(&turns, cell)?;
    }
    Some(Effort {
        spent_seconds,
        // Starts and warming up cost as much more as they did.
        exhaustive_seconds: calls * spent_seconds / call_seconds,
        nodes: largest.nodes,
    })
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
