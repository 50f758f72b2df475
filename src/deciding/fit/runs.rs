//! The choice of one candidate for as many neighbouring sizes as possible.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use schedule::Collective;
use table::{Confidence, Operators};
use vocabulary::{Candidate, CommShape};

use crate::joint::shares_one_rule;
use crate::prediction::block_count;
use results::{CellDecision, Ranked, Verdict};
use statistics::geometric_mean;

/// The properties that a table distinguishes besides the size.
pub(crate) type SeriesKey = (Collective, CommShape, Operators);

/// The decisions of each series by size. At one size there are several if more than one datatype, operator or
/// distribution was measured.
pub(crate) fn group_by_series<D: std::borrow::Borrow<CellDecision>>(
    decisions: impl Iterator<Item = D>,
) -> BTreeMap<SeriesKey, BTreeMap<u64, Vec<D>>> {
    let mut series: BTreeMap<SeriesKey, BTreeMap<u64, Vec<D>>> = BTreeMap::new();
    for decision in decisions {
        let CellDecision {
            cell, operators, ..
        } = decision.borrow();
        let (key, bytes) = ((cell.collective, cell.shape, *operators), cell.bytes);
        series
            .entry(key)
            .or_default()
            .entry(bytes)
            .or_default()
            .push(decision);
    }
    series
}

/// Chooses among the acceptable candidates of every decision, with the fewest changes from size to size; cells without
/// a measured default are skipped.
pub(crate) fn choose_with_fewest_changes(decisions: &mut [CellDecision]) {
    let comparable = decisions
        .iter_mut()
        .filter(|decision| decision.verdict != Verdict::DefaultNotMeasured)
        .filter(|decision| !shares_one_rule(decision.cell.collective));
    for mut points in group_by_series(comparable).into_values() {
        let mut points: Vec<&mut Vec<&mut CellDecision>> = points.values_mut().collect();
        let mut rest = &mut points[..];
        while !rest.is_empty() {
            let (length, common) = longest_run(rest);
            let (run, after) = rest.split_at_mut(length);
            choose_best_for_run(run, &common);
            rest = after;
        }
    }
}

/// The length of the longest run from the first point on that one candidate can serve, with all
/// candidates that can. Taking the longest each time gives the fewest runs.
fn longest_run(points: &[&mut Vec<&mut CellDecision>]) -> (usize, BTreeSet<Candidate>) {
    let mut common = good_for_all(points[0], |ranked| ranked.tolerable);
    let mut length = 1;
    for point in &points[1..] {
        let here = good_for_all(point, |ranked| ranked.tolerable);
        let next: BTreeSet<_> = common.intersection(&here).cloned().collect();
        if next.is_empty() {
            break;
        }
        (length, common) = (length + 1, next);
    }
    // A tolerable candidate is used only where no acceptable one makes the run as long.
    let acceptable = points[..length]
        .iter()
        .fold(common.clone(), |common, point| {
            &common & &good_for_all(point, |ranked| ranked.acceptable)
        });
    if acceptable.is_empty() {
        (length, common)
    } else {
        (length, acceptable)
    }
}

/// The candidates that are good enough for every datatype, operator and distribution at one size; never empty.
fn good_for_all(point: &[&mut CellDecision], is_good: fn(&Ranked) -> bool) -> BTreeSet<Candidate> {
    let of_cell = |decision: &CellDecision| {
        let good = decision.ranking.iter().filter(|ranked| is_good(ranked));
        good.map(|ranked| ranked.candidate.clone())
            .collect::<BTreeSet<_>>()
    };
    let common = point
        .iter()
        .map(|decision| of_cell(decision))
        .reduce(|a, b| &a & &b);
    common
        .filter(|common| !common.is_empty())
        .unwrap_or(BTreeSet::from([Candidate::Default]))
}

/// Enters the best candidate of `common` into the decisions of a run.
fn choose_best_for_run(run: &mut [&mut Vec<&mut CellDecision>], common: &BTreeSet<Candidate>) {
    let best = common.iter().min_by(|a, b| simpler_then_faster(run, a, b));
    let chosen = best.unwrap_or(&Candidate::Default);
    for decision in run.iter_mut().flat_map(|point| point.iter_mut()) {
        if *chosen == Candidate::Default {
            if decision.verdict == Verdict::Fastest {
                decision.verdict = Verdict::TypesDisagree;
                decision.confidence = decision.confidence.min(Confidence::Medium);
            }
            continue;
        }
        let fastest = decision
            .ranking
            .first()
            .is_some_and(|ranked| ranked.candidate == *chosen);
        decision.verdict = if fastest {
            Verdict::Fastest
        } else {
            Verdict::NearFastest
        };
        decision.chosen = chosen.clone();
    }
}

/// Fewer blocks at the largest size first, then the larger mean speed-up, then a fixed order.
fn simpler_then_faster(
    run: &[&mut Vec<&mut CellDecision>],
    a: &Candidate,
    b: &Candidate,
) -> Ordering {
    let last = run.last().and_then(|point| point.first());
    let blocks =
        |candidate: &Candidate| last.map_or(1, |decision| block_count(&decision.cell, candidate));
    let decisions = || {
        run.iter()
            .flat_map(|point| point.iter())
            .map(|decision| &**decision)
    };
    blocks(a)
        .cmp(&blocks(b))
        .then_with(|| {
            let speedup = |candidate| geometric_mean_speedup(decisions(), candidate).unwrap_or(0.0);
            speedup(b).total_cmp(&speedup(a))
        })
        .then_with(|| a.cmp(b))
}

/// The geometric mean of a candidate's median speed-ups over the default, over those decisions that compare it with the
/// default; `None` if there are none.
pub(crate) fn geometric_mean_speedup<'a>(
    decisions: impl Iterator<Item = &'a CellDecision>,
    candidate: &Candidate,
) -> Option<f64> {
    let speedup = |decision: &'a CellDecision| Some(decision.ranked(candidate)?.speedup?.median);
    geometric_mean(decisions.filter_map(speedup))
}
