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
//!
//! What was not compared may be a loss: the default stays where a cell of the campaign was not compared with it.

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

/// The distributions of the data with which an irregular collective is measured on a shape.
type Distributions = BTreeMap<(Collective, CommShape), BTreeSet<Distribution>>;

fn distributions_by_shape<'c>(cells: impl Iterator<Item = &'c Cell>) -> Distributions {
    let mut all = Distributions::new();
    for cell in cells.filter(|cell| cell.collective.is_irregular()) {
        let of_shape = all.entry((cell.collective, cell.shape)).or_default();
        of_shape.insert(cell.distribution);
    }
    all
}

/// Keeps the default at each size of an irregular collective that decides by size if a distribution of the shape among
/// these `cells` was not compared with it there.
pub(crate) fn keep_default_at_incomplete_sizes(
    decisions: &mut [CellDecision],
    cells: &BTreeSet<Cell>,
) {
    let wanted = distributions_by_shape(cells.iter());
    let mut sizes: BTreeMap<(Collective, CommShape, u64), Vec<&mut CellDecision>> = BTreeMap::new();
    for decision in decisions {
        let cell = decision.cell;
        let is_comparable = decision.verdict != Verdict::DefaultNotMeasured;
        if cell.collective.is_irregular() && cell.collective.decides_by_size() && is_comparable {
            let at = sizes.entry((cell.collective, cell.shape, cell.bytes));
            at.or_default().push(decision);
        }
    }
    for ((collective, shape, _), at) in sizes {
        let compared: BTreeSet<Distribution> = at
            .iter()
            .map(|decision| decision.cell.distribution)
            .collect();
        let is_complete = wanted
            .get(&(collective, shape))
            .is_none_or(|wanted| wanted.is_subset(&compared));
        if !is_complete {
            at.into_iter().for_each(keep_default);
        }
    }
}

/// Keeps the default where a candidate beats it, but loses or was not compared in another cell that shares the rule.
fn keep_default(decision: &mut CellDecision) {
    decision.chosen = Candidate::Default;
    if matches!(decision.verdict, Verdict::Fastest | Verdict::NearFastest) {
        decision.verdict = Verdict::LosesElsewhere;
        decision.confidence = decision.confidence.min(table::Confidence::Medium);
    }
}

/// Enters one choice for all cells of each shape in which a collective does not decide by size. The default stays if it
/// was not compared with anything in one of these `cells` of the shape.
pub(crate) fn choose_for_shapes(
    decisions: &mut [CellDecision],
    cells: &BTreeSet<Cell>,
    options: &DecideOptions,
) {
    let compared: BTreeSet<Cell> = decisions
        .iter()
        .filter(|decision| decision.verdict != Verdict::DefaultNotMeasured)
        .map(|decision| decision.cell)
        .collect();
    let incomplete: BTreeSet<(Collective, CommShape)> = cells
        .difference(&compared)
        .map(|cell| (cell.collective, cell.shape))
        .collect();
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
    for (shape, of_shape) in shapes {
        let all: Vec<&CellDecision> = of_shape.iter().map(|decision| &**decision).collect();
        let able = candidates_for_all(&all, options).into_iter();
        let chosen = able.take_while(|_| !incomplete.contains(&shape)).next();
        for decision in of_shape {
            match &chosen {
                Some(chosen) => enter_choice(decision, chosen),
                None => keep_default(decision),
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

/// The decisions with one for each size of an irregular collective, which stands for those of all distributions. `cells`
/// are those of the campaign. Where a collective decides by size, the default holds at sizes at which a distribution of
/// the shape is missing.
pub(crate) fn merge_distributions<'d>(
    decisions: impl Iterator<Item = &'d CellDecision>,
    cells: &[Cell],
) -> Vec<CellDecision> {
    type Size = (Collective, CommShape, Operators, u64);
    let mut merged = Vec::new();
    let mut sizes: BTreeMap<Size, Vec<&CellDecision>> = BTreeMap::new();
    for decision in decisions {
        let cell = decision.cell;
        if cell.collective.is_irregular() {
            let key = (cell.collective, cell.shape, decision.operators, cell.bytes);
            sizes.entry(key).or_default().push(decision);
        } else {
            merged.push(decision.clone());
        }
    }
    let measured = sizes.values().flatten().map(|decision| &decision.cell);
    let wanted = distributions_by_shape(measured.chain(cells));
    for ((collective, shape, ..), at) in sizes {
        let found: BTreeSet<Distribution> = at
            .iter()
            .map(|decision| decision.cell.distribution)
            .collect();
        let is_complete = wanted
            .get(&(collective, shape))
            .is_none_or(|wanted| wanted.is_subset(&found));
        // Where one rule holds, the default is kept in all cells or in none.
        merged.push(if is_complete || shares_one_rule(collective) {
            merged_decision(&at)
        } else {
            default_at_incomplete_size(merged_decision(&at))
        });
    }
    merged
}

/// The decision for a size at which a distribution is missing: only the time of the default is known.
fn default_at_incomplete_size(merged: CellDecision) -> CellDecision {
    let is_default = |ranked: &Ranked| ranked.candidate == Candidate::Default;
    let verdict = if merged.chosen == Candidate::Default {
        merged.verdict
    } else {
        Verdict::LosesElsewhere
    };
    CellDecision {
        chosen: Candidate::Default,
        up_to_next: merged.up_to_next.map(|_| Candidate::Default),
        verdict,
        ranking: merged.ranking.into_iter().filter(is_default).collect(),
        ..merged
    }
}

/// One decision for all distributions of a size, which choose alike. Speed-ups are geometric means, and so is the time of
/// the default. The time of another candidate is that with its lowest speed-up, so that choices by interpolated times
/// never rest on a mean that hides a loss.
fn merged_decision(at: &[&CellDecision]) -> CellDecision {
    let first = at[0];
    let of_all = |candidate: &Candidate| -> Option<Vec<&Ranked>> {
        let all = at.iter().map(|decision| decision.ranked(candidate));
        all.collect()
    };
    let default_seconds = of_all(&Candidate::Default)
        .and_then(|all| geometric_mean(all.iter().map(|ranked| ranked.median_seconds)));
    let ranked = |candidate: &Candidate| -> Option<Ranked> {
        let all = of_all(candidate)?;
        if let [only] = all[..] {
            return Some(only.clone());
        }
        let mut merged = Ranked {
            median_seconds: default_seconds?,
            beats_default: all.iter().all(|ranked| ranked.beats_default),
            ..all[0].clone()
        };
        if *candidate != Candidate::Default {
            let speedups = all.iter().map(|ranked| ranked.speedup);
            let speedups: Vec<PairedRatio> = speedups.collect::<Option<_>>()?;
            let medians = speedups.iter().map(|speedup| speedup.median);
            merged.median_seconds /= medians.fold(f64::INFINITY, f64::min);
            merged.speedup = Some(mean_speedup(&speedups)?);
        }
        Some(merged)
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
fn mean_speedup(speedups: &[PairedRatio]) -> Option<PairedRatio> {
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
