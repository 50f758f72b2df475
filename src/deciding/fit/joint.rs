//! Choices that several sizes or distributions share.
//!
//! A table has one rule for a communicator where a collective does not decide by size
//! ([`Collective::decides_by_size`]), and one rule for a size of an allgatherv, whatever the distribution of the data
//! is. Candidates are compared with the default in each cell; here the cells that share a rule are decided together.
//!
//! - *Without a size*, a candidate replaces the default if it [loses](DecideOptions::is_loss) in no cell of the shape and
//!   beats the default in at least one. Of several, the one with the largest geometric mean of speed-ups is chosen.
//! - *By size*, a candidate replaces the default if it beats it with every distribution of that size
//!   ([`crate::runs`]).

use std::collections::{BTreeMap, BTreeSet};

use results::{CellDecision, Ranked, Verdict};
use schedule::Collective;
use statistics::{Interval, PairedRatio, geometric_mean};
use table::Operators;
use vocabulary::{Candidate, Cell, CommShape, Distribution};

use crate::DecideOptions;
use crate::runs::geometric_mean_speedup;

/// Whether all cells of a collective on a shape share one rule. A barrier has only one cell.
pub(crate) fn shares_one_rule(collective: Collective) -> bool {
    collective.is_irregular() && !collective.decides_by_size()
}

impl DecideOptions {
    /// Whether a ratio of the default's time to a candidate's shows that the candidate loses: the interval lies below 1,
    /// or the median loss is enough to matter.
    pub(crate) fn is_loss(&self, speedup: &PairedRatio) -> bool {
        let is_material = speedup.median * (1.0 + self.materiality) < 1.0;
        is_material || self.has_enough_coverage(speedup) && speedup.interval.high < 1.0
    }
}

/// The candidates that may replace the default in all these cells, the best first: measured in all of them, losing in
/// none, and beating the default in at least one.
pub(crate) fn candidates_for_all(
    decisions: &[&CellDecision],
    options: &DecideOptions,
) -> Vec<Candidate> {
    let Some((first, rest)) = decisions.split_first() else {
        return Vec::new();
    };
    let holds_its_own = |decision: &CellDecision, candidate: &Candidate| {
        let ranked = decision.ranked(candidate);
        let default = decision.ranked_default();
        ranked.zip(default).is_some_and(|(ranked, default)| {
            let wanted = options.launches.min(default.counts.launches);
            let speedup = ranked.speedup.filter(|speedup| !options.is_loss(speedup));
            speedup.is_some() && 2 * ranked.counts.launches >= wanted
        })
    };
    let gains = |candidate: &Candidate| {
        let mut ranked = decisions.iter().filter_map(|at| at.ranked(candidate));
        ranked.any(|ranked| ranked.beats_default)
    };
    let rivals = first.ranking.iter().map(|ranked| &ranked.candidate);
    let mut able: Vec<(f64, &Candidate)> = rivals
        .filter(|candidate| **candidate != Candidate::Default)
        .filter(|candidate| gains(candidate) && holds_its_own(first, candidate))
        .filter(|candidate| rest.iter().all(|at| holds_its_own(at, candidate)))
        .filter_map(|candidate| {
            let all = decisions.iter().copied();
            Some((geometric_mean_speedup(all, candidate)?, candidate))
        })
        .collect();
    able.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
    able.into_iter()
        .map(|(_, candidate)| candidate.clone())
        .collect()
}

/// Enters one choice for all cells of each shape in which a collective does not decide by size.
pub(crate) fn choose_for_shapes(decisions: &mut [CellDecision], options: &DecideOptions) {
    let mut shapes: BTreeMap<(Collective, CommShape), Vec<&mut CellDecision>> = BTreeMap::new();
    for decision in decisions {
        let Cell {
            collective, shape, ..
        } = decision.cell;
        let is_comparable = decision.verdict != Verdict::DefaultNotMeasured;
        if shares_one_rule(collective) && is_comparable {
            shapes
                .entry((collective, shape))
                .or_default()
                .push(decision);
        }
    }
    for mut cells in shapes.into_values() {
        let all: Vec<&CellDecision> = cells.iter().map(|decision| &**decision).collect();
        let chosen = candidates_for_all(&all, options).into_iter().next();
        for decision in &mut cells {
            match &chosen {
                Some(chosen) => enter_choice(decision, chosen),
                // A candidate beats the default here, and loses elsewhere.
                None if decision.verdict == Verdict::Fastest => {
                    decision.verdict = Verdict::LosesElsewhere;
                    decision.confidence = decision.confidence.min(table::Confidence::Medium);
                }
                None => {}
            }
        }
    }
}

fn enter_choice(decision: &mut CellDecision, chosen: &Candidate) {
    let ranked = decision.ranked(chosen);
    let beats = ranked.is_some_and(|ranked| ranked.beats_default);
    let is_first = decision
        .ranking
        .first()
        .is_some_and(|first| first.candidate == *chosen);
    decision.verdict = match (beats, is_first) {
        (true, true) => Verdict::Fastest,
        (true, false) => Verdict::NearFastest,
        (false, _) => Verdict::LosesNowhere,
    };
    decision.chosen = chosen.clone();
}

/// The decisions with one for each size of an irregular collective, which stands for those of all distributions. Sizes
/// at which a distribution is missing that other sizes of the shape have are left out.
pub(crate) fn merge_distributions<'d>(
    decisions: impl Iterator<Item = &'d CellDecision>,
) -> Vec<CellDecision> {
    type Series = (Collective, CommShape, Operators);
    let mut merged = Vec::new();
    let mut irregular: BTreeMap<Series, BTreeMap<u64, Vec<&CellDecision>>> = BTreeMap::new();
    for decision in decisions {
        let cell = decision.cell;
        if cell.collective.is_irregular() {
            let key = (cell.collective, cell.shape, decision.operators);
            let sizes = irregular.entry(key).or_default();
            sizes.entry(cell.bytes).or_default().push(decision);
        } else {
            merged.push(decision.clone());
        }
    }
    for sizes in irregular.into_values() {
        let distributions = |at: &[&CellDecision]| -> BTreeSet<Distribution> {
            at.iter()
                .map(|decision| decision.cell.distribution)
                .collect()
        };
        let all: BTreeSet<Distribution> = sizes.values().flat_map(|at| distributions(at)).collect();
        let complete = sizes.into_values().filter(|at| distributions(at) == all);
        merged.extend(complete.map(|at| merged_decision(&at)));
    }
    merged
}

/// One decision for all distributions of a size, which choose alike. Times and speed-ups are geometric means.
fn merged_decision(at: &[&CellDecision]) -> CellDecision {
    let first = at[0];
    let ranked = |candidate: &Candidate| -> Option<Ranked> {
        let all = at.iter().map(|decision| decision.ranked(candidate));
        let all: Vec<&Ranked> = all.collect::<Option<_>>()?;
        Some(Ranked {
            median_seconds: geometric_mean(all.iter().map(|ranked| ranked.median_seconds))?,
            speedup: mean_speedup(&all),
            beats_default: all.iter().all(|ranked| ranked.beats_default),
            ..all[0].clone()
        })
    };
    let ranking = first.ranking.iter().map(|entry| &entry.candidate);
    let mut ranking: Vec<Ranked> = ranking.filter_map(ranked).collect();
    ranking.sort_by(|a, b| a.median_seconds.total_cmp(&b.median_seconds));
    let is_alike =
        |of: fn(&CellDecision) -> &Candidate| at.iter().all(|decision| of(decision) == of(first));
    let chosen = if is_alike(|decision| &decision.chosen) {
        first.chosen.clone()
    } else {
        Candidate::Default
    };
    let is_settled = at.iter().any(|decision| decision.up_to_next.is_some());
    let holds_up_to_next = at
        .iter()
        .all(|decision| decision.up_to_next == first.up_to_next);
    CellDecision {
        cell: Cell {
            distribution: Distribution::Uniform,
            ..first.cell
        },
        chosen,
        up_to_next: if holds_up_to_next {
            first.up_to_next.clone()
        } else {
            is_settled.then_some(Candidate::Default)
        },
        verdict: at
            .iter()
            .map(|decision| decision.verdict)
            .find(|verdict| *verdict == Verdict::Confirmed)
            .unwrap_or(first.verdict),
        confidence: at
            .iter()
            .map(|decision| decision.confidence)
            .min()
            .unwrap_or(first.confidence),
        ranking,
        ..first.clone()
    }
}

/// The geometric mean of speed-ups, with an interval from the lowest to the highest end.
fn mean_speedup(all: &[&Ranked]) -> Option<PairedRatio> {
    let speedups: Vec<PairedRatio> = all
        .iter()
        .map(|ranked| ranked.speedup)
        .collect::<Option<_>>()?;
    let ends = |of: fn(&PairedRatio) -> f64| speedups.iter().map(of);
    Some(PairedRatio {
        median: geometric_mean(ends(|ratio| ratio.median))?,
        interval: Interval {
            low: ends(|ratio| ratio.interval.low).fold(f64::INFINITY, f64::min),
            high: ends(|ratio| ratio.interval.high).fold(0.0, f64::max),
            coverage: ends(|ratio| ratio.interval.coverage).fold(1.0, f64::min),
        },
        launches: speedups.iter().map(|ratio| ratio.launches).min()?,
    })
}
