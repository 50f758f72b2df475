//! Measured times beside expected ones.

use std::collections::{BTreeMap, BTreeSet};

use results::{CellDecision, Expected, ModelCurve, Ranked};
use schedule::Collective;
use table::Operators;
use vocabulary::{Cell, CommShape};

use crate::family::family;

/// The curves of those algorithms of ours that are the best of ours at some size, in every shape, by
/// collective, shape and class of operators.
pub fn compare_expected(decisions: &[CellDecision]) -> Vec<ModelCurve> {
    let mut shapes: BTreeMap<(Collective, CommShape, Operators), Vec<&CellDecision>> =
        BTreeMap::new();
    for decision in decisions {
        let Cell {
            collective, shape, ..
        } = decision.cell;
        let key = (collective, shape, decision.operators);
        shapes.entry(key).or_default().push(decision);
    }
    let mut curves = Vec::new();
    for ((_, shape, _), decisions) in shapes {
        let best = decisions
            .iter()
            .filter_map(|decision| ours(decision).next());
        let names: BTreeSet<String> = best
            .map(|ranked| family(&ranked.candidate).to_string())
            .collect();
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
    let ranked =
        ours(decision).find(|ranked| family(&ranked.candidate).to_string() == algorithm)?;
    Some(Expected {
        bytes: decision.cell.bytes,
        candidate: ranked.candidate.clone(),
        measured_seconds: ranked.median_seconds,
        expected_seconds: ranked.predicted_seconds?,
    })
}
