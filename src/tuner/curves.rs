//! Measured times beside expected ones.

use std::collections::{BTreeMap, BTreeSet};

use campaign::Family;
use report::{Expected, ModelCurve};
use results::{CellDecision, Ranked};
use schedule::Collective;
use table::Operators;
use vocabulary::{Candidate, CommShape};

/// The curves of those algorithms of ours that are the best of ours at some size, in every shape, by
/// collective and shape.
pub(crate) fn of(decisions: &[CellDecision]) -> Vec<ModelCurve> {
    let mut shapes: BTreeMap<(Collective, CommShape), Vec<&CellDecision>> = BTreeMap::new();
    // What noncommutative operators may use is among the others.
    let once = decisions
        .iter()
        .filter(|d| d.operators != Operators::Noncommutative);
    for decision in once {
        let key = (decision.cell.collective, decision.cell.shape);
        shapes.entry(key).or_default().push(decision);
    }
    let mut curves = Vec::new();
    for ((_, shape), decisions) in shapes {
        let best = decisions
            .iter()
            .filter_map(|decision| ours(decision).next());
        let names: BTreeSet<String> = best.map(|ranked| name(&ranked.candidate)).collect();
        for algorithm in names {
            let points = decisions
                .iter()
                .filter_map(|d| point(d, &algorithm))
                .collect();
            curves.push(ModelCurve {
                algorithm,
                shape,
                points,
            });
        }
    }
    curves
}

/// Our algorithms of which something is expected, fastest first.
fn ours(decision: &CellDecision) -> impl Iterator<Item = &Ranked> {
    let ranking = decision.ranking.iter();
    ranking.filter(|ranked| ranked.predicted_seconds.is_some())
}

fn point(decision: &CellDecision, algorithm: &str) -> Option<Expected> {
    let ranked = ours(decision).find(|ranked| name(&ranked.candidate) == algorithm)?;
    Some(Expected {
        bytes: decision.cell.bytes,
        candidate: ranked.candidate.clone(),
        measured_seconds: ranked.median_seconds,
        expected_seconds: ranked.predicted_seconds?,
    })
}

/// A candidate's name without its blocks.
fn name(candidate: &Candidate) -> String {
    match Family::of(candidate) {
        Some(family) => format!("{}{}", family.algorithm.name(), family.parameters),
        None => candidate.to_string(),
    }
}
