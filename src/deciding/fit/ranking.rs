//! The ranking of the candidates of one cell.

use std::collections::BTreeSet;

use table::Confidence;
use vocabulary::defaults::CONFIDENCE;
use vocabulary::{Candidate, Cell};

use crate::prediction::predicted_seconds;
use crate::{DecideOptions, MachineFit};
use results::{Ranked, Summary};
use statistics::{PairedRatio, paired_ratio};

/// A summary beside what the ranking says about it.
struct RankedSummary<'s> {
    /// The speed-up by which it is ordered; 0 if it cannot be compared.
    order: f64,
    ranked: Ranked,
    summary: &'s Summary,
}

/// Compares the summaries of one cell, including the default's. The order is: fastest first by paired ratio, then
/// candidates with [too few launches](has_enough_launches), then those that cannot be compared. Returns also the
/// confidence that the acceptable candidates beat the default, or that none does.
///
/// A candidate with too few launches is not chosen, however fast it looks, and neither is one that is only measured for
/// elements of this size ([`Cell::is_true_of_all_elements`]). Of candidates that beat the default and are
/// the same schedule, only the simplest is acceptable; their times are not merged.
pub(crate) fn rank_candidates(
    cell: &Cell,
    summaries: &[&Summary],
    default: &Summary,
    machine: Option<&MachineFit>,
    options: &DecideOptions,
) -> (Vec<Ranked>, Confidence) {
    let is_known = |summary: &Summary| has_enough_launches(summary, default, options);
    let mut ranked: Vec<RankedSummary<'_>> = summaries
        .iter()
        .map(|summary| {
            let candidate = &summary.candidate;
            let is_default = *candidate == Candidate::Default;
            let speedup = time_ratio(default, summary, options).filter(|_| !is_default);
            let order = if is_default {
                1.0
            } else {
                speedup.map_or(0.0, |s| s.median)
            };
            let ranked = Ranked {
                candidate: candidate.clone(),
                counts: summary.counts,
                median_seconds: summary.median_seconds,
                interval: summary.interval,
                speedup,
                behind_fastest: 0.0,
                predicted_seconds: machine.and_then(|m| predicted_seconds(m, cell, candidate)),
                beats_default: is_known(summary)
                    && speedup.is_some_and(|speedup| options.is_decisive_speedup(&speedup))
                    && cell.is_true_of_all_elements(candidate),
                acceptable: false,
                tolerable: false,
            };
            RankedSummary {
                order,
                ranked,
                summary,
            }
        })
        .collect();
    // Equal times are in a fixed order, the default first.
    ranked.sort_by(|a, b| {
        let known = is_known(b.summary).cmp(&is_known(a.summary));
        known
            .then_with(|| b.order.total_cmp(&a.order))
            .then_with(|| a.ranked.candidate.cmp(&b.ranked.candidate))
    });
    let fastest = ranked.first().map(|first| first.summary);
    let better: Vec<&Candidate> = ranked
        .iter()
        .filter(|one| one.ranked.beats_default)
        .map(|one| &one.summary.candidate)
        .collect();
    let places = cell.simplest_alike(&better);
    let simplest: BTreeSet<&Candidate> = places.iter().map(|place| better[*place]).collect();
    let leader = ranked
        .iter()
        .find(|one| simplest.contains(&one.summary.candidate))
        .map(|one| one.summary);
    let candidates: Vec<Ranked> = ranked
        .into_iter()
        .map(|one| {
            let RankedSummary {
                ranked: mut candidate,
                summary,
                ..
            } = one;
            let behind = fastest.and_then(|fastest| time_ratio(summary, fastest, options));
            candidate.behind_fastest = behind.map_or(0.0, |behind| behind.median - 1.0);
            let leader = leader.filter(|_| simplest.contains(&candidate.candidate));
            candidate.acceptable =
                leader.is_some_and(|leader| is_as_good_as(leader, summary, options));
            candidate.tolerable = candidate.acceptable
                || leader.is_some_and(|leader| is_tolerable(leader, summary, options));
            candidate
        })
        .collect();
    let confidence = ranking_confidence(&candidates, options);
    (candidates, confidence)
}

/// Whether a candidate was measured in enough launches to be chosen: in half as many as the campaign asks for, or as
/// the default has if these are fewer, since the campaign was interrupted.
///
/// The launches of other candidates do not matter. A guided search may compare the default with one rival after the
/// other, so that it has many more launches than each of them.
pub(crate) fn has_enough_launches(
    candidate: &Summary,
    default: &Summary,
    options: &DecideOptions,
) -> bool {
    let wanted = options.launches.min(default.counts.launches);
    2 * candidate.counts.launches >= wanted
}

/// The ratio of two candidates' times.
fn time_ratio(
    numerator: &Summary,
    denominator: &Summary,
    options: &DecideOptions,
) -> Option<PairedRatio> {
    paired_ratio(
        &numerator.launch_medians,
        &denominator.launch_medians,
        options.confidence,
    )
}

/// Whether a candidate is as fast as the leader, within noise.
fn is_as_good_as(leader: &Summary, summary: &Summary, options: &DecideOptions) -> bool {
    if leader.candidate == summary.candidate {
        return true;
    }
    let Some(behind) = time_ratio(summary, leader, options) else {
        return false;
    };
    let worse = options.has_enough_coverage(&behind) && behind.interval.low > 1.0;
    let differs_by_block = leader.candidate.algorithm() == summary.candidate.algorithm();
    (!worse && behind.median <= 1.0 + options.tie)
        || (differs_by_block && behind.median <= 1.0 + options.max_regret)
}

/// Whether a candidate may replace the leader where that saves a rule.
fn is_tolerable(leader: &Summary, summary: &Summary, options: &DecideOptions) -> bool {
    let behind = time_ratio(summary, leader, options);
    behind.is_some_and(|behind| behind.median <= 1.0 + options.max_regret)
}

fn ranking_confidence(candidates: &[Ranked], options: &DecideOptions) -> Confidence {
    let speedups: Vec<PairedRatio> = candidates.iter().filter_map(|r| r.speedup).collect();
    let chosen: Vec<PairedRatio> = candidates
        .iter()
        .filter(|r| r.acceptable)
        .filter_map(|r| r.speedup)
        .collect();
    let decisive = if chosen.is_empty() {
        &speedups
    } else {
        &chosen
    };
    // The first is the strongest; others may have fewer launches.
    if decisive
        .first()
        .is_none_or(|speedup| !options.has_enough_coverage(speedup))
    {
        return Confidence::Low;
    }
    let settled = || {
        decisive
            .iter()
            .filter(|speedup| options.has_enough_coverage(speedup))
    };
    let sure = |speedup: &PairedRatio| speedup.interval.coverage >= CONFIDENCE;
    // A candidate that beats the default with enough launches does so significantly.
    let kept_for_sure = |speedup: &PairedRatio| speedup.interval.high < 1.0 + options.materiality;
    let certain = !chosen.is_empty() || settled().all(kept_for_sure);
    // A campaign may request a lower confidence, but `high` has the same meaning in all tables.
    if certain && settled().all(sure) {
        Confidence::High
    } else {
        Confidence::Medium
    }
}
