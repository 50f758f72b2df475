//! The measurements that support a decision.

use results::{CellDecision, Evidence, OftenInvalid, Ranked};
use table::{Decision, Operators, Query, ShapeMatch, rounded};
use vocabulary::{Candidate, CommShape};

use crate::Analysis;

/// A clause saying that the store's measurements are not those that the table was made from, and which candidate they
/// lead to where it is another one.
pub fn disagreement(evidence: &[Evidence], query: &Query, decision: &Decision<'_>) -> String {
    let candidate = decision.candidate.to_string();
    let says = evidence
        .iter()
        .find(|found| found.bytes == query.bytes && found.chosen != candidate)
        .map(|found| {
            format!(
                "; where the table says {candidate}, they say {}",
                found.chosen
            )
        })
        .unwrap_or_default();
    format!(
        "the table was made from other measurements than those now in the store, or with other \
         settings{says}: `colltune decide` makes a table of these"
    )
}

impl Analysis {
    /// The measurements at the sizes nearest to a query that a table has answered: at most one at or below its size and
    /// one above.
    pub fn evidence(&self, query: &Query, decision: &Decision<'_>) -> Vec<Evidence> {
        let shape = match decision.matched {
            ShapeMatch::Measured | ShapeMatch::Model => query.shape,
            ShapeMatch::Interpolated(low, high) => {
                let on = |shape| self.evidence_on(shape, query, decision);
                return [on(low), on(high)].concat();
            }
            ShapeMatch::Nearest(shape) | ShapeMatch::OtherOrder(shape, _) => shape,
            ShapeMatch::Absent => return Vec::new(),
        };
        self.evidence_on(shape, query, decision)
    }

    /// The evidence on one shape.
    fn evidence_on(
        &self,
        shape: CommShape,
        query: &Query,
        decision: &Decision<'_>,
    ) -> Vec<Evidence> {
        let known = match decision.matched {
            ShapeMatch::Model => &self.extended,
            _ => self.decisions_for(query.deployment),
        };
        let mut cells: Vec<&CellDecision> =
            known.iter().filter(|d| concerns(d, query, shape)).collect();
        // Decisions for the class take precedence over those for all operators.
        if cells.iter().any(|d| d.operators != Operators::Any) {
            cells.retain(|d| d.operators != Operators::Any);
        }
        let below = cells
            .iter()
            .filter(|d| d.cell.bytes <= query.bytes)
            .max_by_key(|d| d.cell.bytes);
        let above = cells
            .iter()
            .filter(|d| d.cell.bytes > query.bytes)
            .min_by_key(|d| d.cell.bytes);
        let exact = below.is_some_and(|d| d.cell.bytes == query.bytes);
        below
            .into_iter()
            .chain(above.filter(|_| !exact))
            .map(|decision| spell_out(decision, &self.repetitions.never_valid))
            .collect()
    }
}

fn concerns(decision: &CellDecision, query: &Query, shape: CommShape) -> bool {
    decision.cell.collective == query.collective
        && decision.cell.shape == shape
        && decision.operators.cover(query.operators)
}

fn spell_out(decision: &CellDecision, never_valid: &[OftenInvalid]) -> Evidence {
    let mut ranking = decision.ranking.clone();
    for speedup in ranking
        .iter_mut()
        .filter_map(|ranked| ranked.speedup.as_mut())
    {
        speedup.median = rounded(speedup.median);
    }
    let is_chosen = |ranked: &&Ranked| ranked.candidate == decision.chosen;
    let chosen = ranking.iter().find(is_chosen);
    let others = ranking.iter().filter(|ranked| !is_chosen(ranked));
    let runner_up = others.min_by(|a, b| a.median_seconds.total_cmp(&b.median_seconds));
    Evidence {
        bytes: decision.cell.bytes,
        chosen: decision.chosen.to_string(),
        why: decision.verdict.to_string(),
        margin: chosen
            .zip(runner_up)
            .map(|(chosen, other)| times_as_long(chosen, other) - 1.0),
        ranking,
        never_valid: never_valid
            .iter()
            .filter(|never| never.cell == decision.cell)
            .cloned()
            .collect(),
    }
}

/// The ratio of another candidate's time to the chosen one's. If one of them is the default, this uses the ratios
/// paired within launches that the decision rests on.
fn times_as_long(chosen: &Ranked, other: &Ranked) -> f64 {
    let paired = match (&chosen.candidate, &other.candidate) {
        (Candidate::Default, _) => other.speedup.map(|speedup| 1.0 / speedup.median),
        (_, Candidate::Default) => chosen.speedup.map(|speedup| speedup.median),
        _ => None,
    };
    paired.unwrap_or(other.median_seconds / chosen.median_seconds)
}
