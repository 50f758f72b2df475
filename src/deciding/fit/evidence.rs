//! The measurements that support a decision.

use results::{CellDecision, Evidence, OftenInvalid, Ranked};
use statistics::{Interval, paired_ratios};
use table::{Decision, Operators, Query, ShapeMatch, round_for_table};
use vocabulary::{Candidate, CommShape, Subject};

use crate::Analysis;
use crate::joint::shares_one_rule;

/// A clause saying that the store's measurements are not those that the table was made from, and which candidate they
/// lead to where it is another one.
pub fn describe_disagreement(
    evidence: &[Evidence],
    query: &Query,
    decision: &Decision<'_>,
) -> String {
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
    /// one above; with each distribution of an irregular collective, and at all sizes if it does not decide by size.
    pub fn evidence_for(&self, query: &Query, decision: &Decision<'_>) -> Vec<Evidence> {
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

    /// The speed-ups of a decision's candidate over the default in the launches that measured both on the query's own shape,
    /// for each of the sizes that [`Self::evidence_for`] has.
    pub fn launch_speedups_for(&self, query: &Query, decision: &Decision<'_>) -> Vec<Vec<f64>> {
        let speedups_in = |of_cell: &CellDecision| {
            let default = self.launch_medians(of_cell, &Candidate::Default)?;
            let chosen = self.launch_medians(of_cell, decision.candidate)?;
            Some(paired_ratios(default, chosen))
        };
        let nearest = self.nearest_decisions(query.shape, query, decision);
        nearest.into_iter().filter_map(speedups_in).collect()
    }

    fn launch_medians(
        &self,
        of_cell: &CellDecision,
        candidate: &Candidate,
    ) -> Option<&[(u32, f64)]> {
        let subject = Subject::Cell(of_cell.cell);
        let mut summaries = self.summaries.iter();
        let summary = summaries
            .find(|summary| summary.subject == subject && summary.candidate == *candidate)?;
        Some(&summary.launch_medians)
    }

    /// The evidence on one shape.
    fn evidence_on(
        &self,
        shape: CommShape,
        query: &Query,
        decision: &Decision<'_>,
    ) -> Vec<Evidence> {
        let nearest = self.nearest_decisions(shape, query, decision).into_iter();
        nearest
            .map(|of_cell| evidence_from_decision(of_cell, &self.repetitions.never_valid))
            .collect()
    }

    /// The decisions on one shape at the sizes nearest to a query.
    fn nearest_decisions(
        &self,
        shape: CommShape,
        query: &Query,
        decision: &Decision<'_>,
    ) -> Vec<&CellDecision> {
        let known = match decision.matched {
            ShapeMatch::Model => &self.extended,
            _ => self.decisions_for(query.deployment),
        };
        let mut cells: Vec<&CellDecision> = known
            .iter()
            .filter(|d| is_about_query(d, query, shape))
            .collect();
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
        let nearest: Vec<&CellDecision> = [below, above.filter(|_| !exact)]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        if !query.collective.is_irregular() {
            return nearest;
        }
        // One rule for all sizes rests on all cells, and one for a size on all distributions of that size.
        let has_near_size = |of_cell: &&CellDecision| {
            let mut sizes = nearest.iter().map(|near| near.cell.bytes);
            shares_one_rule(query.collective) || sizes.any(|bytes| bytes == of_cell.cell.bytes)
        };
        cells.retain(has_near_size);
        cells.sort_by_key(|of_cell| of_cell.cell.bytes);
        cells
    }
}

fn is_about_query(decision: &CellDecision, query: &Query, shape: CommShape) -> bool {
    decision.cell.collective == query.collective
        && decision.cell.shape == shape
        && decision.operators.hold_for(query.operators)
}

fn evidence_from_decision(decision: &CellDecision, never_valid: &[OftenInvalid]) -> Evidence {
    let mut ranking = decision.ranking.clone();
    for speedup in ranking
        .iter_mut()
        .filter_map(|ranked| ranked.speedup.as_mut())
    {
        speedup.median = round_for_table(speedup.median);
    }
    let best_other = find_best_other(&ranking, &decision.chosen);
    let margin = best_other.and_then(|other| margin_over(&decision.chosen, other, &ranking));
    Evidence {
        bytes: decision.cell.bytes,
        distribution: (decision.cell.collective.is_irregular())
            .then(|| decision.cell.distribution.name().to_owned()),
        chosen: decision.chosen.to_string(),
        why: decision.verdict.to_string(),
        best_other: best_other.map(|other| other.candidate.to_string()),
        margin: margin.map(|margin| margin.share),
        margin_interval: margin.and_then(|margin| margin.interval),
        ranking,
        never_valid: never_valid
            .iter()
            .filter(|never| never.cell == decision.cell)
            .cloned()
            .collect(),
    }
}

/// The candidate beside the chosen one with the largest speed-up over the default, which has 1. Candidates with less
/// than half of the launches of the most measured one are left out, as their times are uncertain.
fn find_best_other<'a>(ranking: &'a [Ranked], chosen: &Candidate) -> Option<&'a Ranked> {
    let launches = |ranked: &Ranked| ranked.speedup.map_or(0, |speedup| speedup.launches);
    let most = ranking.iter().map(launches).max().unwrap_or(0);
    let is_default = |ranked: &Ranked| ranked.candidate == Candidate::Default;
    let others = ranking.iter().filter(|ranked| {
        ranked.candidate != *chosen && (is_default(ranked) || 2 * launches(ranked) >= most.max(1))
    });
    let speedup = |ranked: &Ranked| ranked.speedup.map_or(1.0, |speedup| speedup.median);
    others.max_by(|a, b| speedup(a).total_cmp(&speedup(b)))
}

/// The extra time of another candidate over the chosen one.
#[derive(Clone, Copy)]
struct Margin {
    share: f64,
    /// `None` if neither of the two is the default.
    interval: Option<Interval>,
}

/// The extra time of `other` over the chosen candidate, from the ratios to the default that are paired within launches.
fn margin_over(chosen: &Candidate, other: &Ranked, ranking: &[Ranked]) -> Option<Margin> {
    let chosen = ranking.iter().find(|ranked| ranked.candidate == *chosen)?;
    let share = |times_as_long: f64| times_as_long - 1.0;
    match (chosen.speedup, other.speedup) {
        // The default is chosen.
        (None, Some(of_other)) => Some(Margin {
            share: share(1.0 / of_other.median),
            interval: Some(Interval {
                low: share(1.0 / of_other.interval.high),
                high: share(1.0 / of_other.interval.low),
                ..of_other.interval
            }),
        }),
        // The default is the best other candidate.
        (Some(of_chosen), None) => Some(Margin {
            share: share(of_chosen.median),
            interval: Some(Interval {
                low: share(of_chosen.interval.low),
                high: share(of_chosen.interval.high),
                ..of_chosen.interval
            }),
        }),
        (Some(of_chosen), Some(of_other)) => Some(Margin {
            share: share(of_chosen.median / of_other.median),
            interval: None,
        }),
        (None, None) => None,
    }
}
