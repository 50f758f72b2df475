//! What was found in single cells, for pictures and spreadsheets.

use std::collections::BTreeMap;

use report::{CellResult, Timed};
use results::{CellDecision, Ranked};
use table::{Operators, RuleSource};
use vocabulary::{Candidate, Cell};

use crate::Analysis;
use crate::view::{ratio, verdict};

/// Every cell that was decided, with all of its candidates, and those that the model tells of.
pub(crate) fn of(analysis: &Analysis) -> Vec<CellResult> {
    let of_library: BTreeMap<(Cell, Operators), &Candidate> = analysis
        .library_decisions
        .iter()
        .map(|decision| ((decision.cell, decision.operators), &decision.chosen))
        .collect();
    let with_source = |source| move |decision| (decision, source);
    let measured = analysis.decisions.iter();
    let expected = analysis.extended.iter();
    measured
        .map(with_source(RuleSource::Measured))
        .chain(expected.map(with_source(RuleSource::Model)))
        .map(|(decision, source)| CellResult {
            cell: decision.cell,
            operators: decision.operators,
            chosen: decision.chosen.clone(),
            chosen_in_library: of_library
                .get(&(decision.cell, decision.operators))
                .map(|chosen| (*chosen).clone()),
            verdict: verdict(decision),
            source,
            candidates: candidates(decision),
        })
        .collect()
}

fn candidates(decision: &CellDecision) -> Vec<Timed> {
    let timed = |ranked: &Ranked| Timed {
        candidate: ranked.candidate.clone(),
        seconds: ranked.median_seconds,
        interval: (ranked.interval.coverage > 0.0)
            .then_some([ranked.interval.low, ranked.interval.high]),
        launches: ranked.counts.launches,
        repetitions: ranked.counts.repetitions,
        speedup: ranked.speedup.as_ref().map(ratio),
        expected_seconds: ranked.predicted_seconds,
    };
    decision.ranking.iter().map(timed).collect()
}
