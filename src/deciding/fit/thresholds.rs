//! Choices between two measured sizes, by interpolated times.

use std::collections::BTreeSet;

use results::{CellDecision, Ranked};
use vocabulary::Candidate;

use crate::rules::is_same_as_default;

/// A candidate, and the size from which it is assumed to be the best choice.
pub(crate) type Change<'d> = (u64, &'d Candidate);

/// The logarithm of the speed-up that a third candidate needs over the choices at two sizes to be chosen between them.
const FAVOUR: f64 = 0.02;
/// The logarithm of the speed-up over the default that a candidate needs to replace it between two sizes.
const FAVOUR_OF_DEFAULT: f64 = 0.05;
/// The gain, the default's time divided by the candidate's, that intervals at two sizes must show for a candidate to be
/// compared between them without any favour.
pub(crate) const FAR_FASTER: f64 = 1.1;

/// The choices above the size of `left`, by times interpolated up to the size of `right`. The last is the choice of
/// `right`; both sizes have different choices.
///
/// The default may be one library algorithm at one size and another at the other; its time between them is then
/// unknown. In the comparison the algorithm that the default uses where it is chosen replaces it, if the default is
/// slower than that algorithm at the other size.
///
/// The choices at both sizes, and the default, are favoured over candidates that would be better by little. There is no
/// favour if the intervals at both sizes show [`FAR_FASTER`] for the same candidate.
pub(crate) fn choices_between_sizes<'d>(
    left: &'d CellDecision,
    right: &'d CellDecision,
) -> Vec<Change<'d>> {
    let (low, high) = (left.cell.bytes, right.cell.bytes);
    let mut candidates = vec![&left.chosen, &right.chosen];
    let ranked = left.ranking.iter().map(|ranked| &ranked.candidate);
    candidates.extend(ranked.filter(|c| **c != left.chosen && **c != right.chosen));
    let keeps_default = [left, right]
        .iter()
        .any(|at| at.chosen == Candidate::Default);
    let leaves_default_out = has_changing_default(left, right);
    let (favour, favour_of_default) = if is_any_far_faster(left, right) {
        (0.0, 0.0)
    } else {
        (FAVOUR, FAVOUR_OF_DEFAULT)
    };
    let line = |(place, candidate): (usize, &&Candidate)| {
        if leaves_default_out && **candidate == Candidate::Default {
            return None;
        }
        let log_seconds = |at: &CellDecision| {
            Some(match place {
                0 | 1 if **candidate == Candidate::Default => {
                    at.ranked_default()?.median_seconds.ln() - favour_of_default
                }
                0 | 1 if keeps_default => seconds_of_alike(at, candidate)?.ln(),
                0 | 1 => seconds_of_alike(at, candidate)?.ln() - favour,
                _ => at.ranked(candidate)?.median_seconds.ln(),
            })
        };
        Some([log_seconds(left)?, log_seconds(right)?])
    };
    let lines: Vec<Option<[f64; 2]>> = candidates.iter().enumerate().map(line).collect();
    let (ln_low, ln_high) = ((low.max(1) as f64).ln(), (high.max(1) as f64).ln());
    let least = low.saturating_add(1).min(high);
    let size = |share: f64| {
        let size = (ln_low + share * (ln_high - ln_low)).exp().round() as u64;
        size.clamp(least, high)
    };
    // A time is unknown if the ends have different block sizes, or if a candidate was not measured at both ends.
    let is_unknown = lines[0].is_none() || lines[1].is_none();
    if (!is_unknown && lines[0] == lines[1]) || (is_unknown && !leaves_default_out) {
        return vec![(size(0.5), &right.chosen)];
    }
    let Some(first) = table::index_of_lowest(lines.iter().map(|ends| Some((*ends)?[0]))) else {
        return vec![(high, &right.chosen)];
    };
    let crossings = table::lowest_line_changes(&lines, first).into_iter();
    let crossings = crossings.map(|(share, place)| (size(share), place));
    let mut changes: Vec<Change<'_>> = Vec::new();
    let last = (high, 1);
    for (bytes, place) in [(least, first)].into_iter().chain(crossings).chain([last]) {
        let before = changes
            .last()
            .map_or(&left.chosen, |(_, candidate)| candidate);
        if before != candidates[place] {
            changes.retain(|(from, _)| *from != bytes);
            changes.push((bytes, candidates[place]));
        }
    }
    changes
}

/// Whether the intervals at both sizes show [`FAR_FASTER`] for the same candidate.
fn is_any_far_faster(left: &CellDecision, right: &CellDecision) -> bool {
    let is_far_faster = |at: &CellDecision, candidate: &Candidate| {
        let speedup = at.ranked(candidate).and_then(|ranked| ranked.speedup);
        speedup.is_some_and(|speedup| speedup.interval.low >= FAR_FASTER)
    };
    let mut candidates = left.ranking.iter().map(|ranked| &ranked.candidate);
    candidates.any(|candidate| is_far_faster(left, candidate) && is_far_faster(right, candidate))
}

/// Whether the default is known to be different algorithms at the two sizes, and is slower at one of them than the
/// algorithm that it is at the other.
fn has_changing_default(left: &CellDecision, right: &CellDecision) -> bool {
    let done = |at: &CellDecision| -> BTreeSet<Candidate> {
        let candidates = at.ranking.iter().map(|ranked| &ranked.candidate);
        candidates
            .filter(|candidate| is_same_as_default(at, candidate))
            .cloned()
            .collect()
    };
    let (before, after) = (done(left), done(right));
    // The algorithm that the default uses at one size matters if it is faster than the default at the other.
    let is_worth = |at: &CellDecision, same: &BTreeSet<Candidate>, other: &CellDecision| {
        let seconds = |candidate: &Candidate| Some(other.ranked(candidate)?.median_seconds);
        let gains = |candidate: &Candidate| {
            let default = seconds(&Candidate::Default);
            let ratio = default
                .zip(seconds(candidate))
                .map(|(default, own)| default / own);
            ratio.is_some_and(|ratio| ratio.ln() >= FAVOUR_OF_DEFAULT)
        };
        at.chosen != Candidate::Default || same.iter().any(gains)
    };
    before.is_disjoint(&after)
        && !(before.is_empty() && after.is_empty())
        && is_worth(left, &before, right)
        && is_worth(right, &after, left)
}

/// The time of a candidate. If it was not measured, that of a candidate which is the same schedule there, or else of
/// the fastest one that differs only by the size of its blocks.
fn seconds_of_alike(at: &CellDecision, candidate: &Candidate) -> Option<f64> {
    let is_alike = |ranked: &&Ranked| at.cell.are_alike(&ranked.candidate, candidate);
    let is_kin = |ranked: &&Ranked| ranked.candidate.without_blocks() == candidate.without_blocks();
    let alike = || at.ranking.iter().find(is_alike);
    let kin = || at.ranking.iter().find(is_kin);
    let found = at.ranked(candidate).or_else(alike).or_else(kin)?;
    Some(found.median_seconds)
}
