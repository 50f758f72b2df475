//! Confirmation by fresh launches that a candidate is faster than the default.

use std::collections::{BTreeMap, BTreeSet};

use results::Summary;
use statistics::{
    PairedRatio, median, paired_ratio, paired_ratios, sign_test, values_for_sign_test,
};
use vocabulary::{Candidate, Cell, Pattern, Sample, Subject};

use crate::{DecideOptions, FitError, summarise};

/// The largest number of candidates tried at a point, one after the other.
pub(crate) const MOST_TRIED: usize = 3;

/// The number of launches in which a confirmed candidate may be slower: 0 in the campaign's own pattern of calls, 1 in
/// any other.
fn contrary_launches(pattern: usize) -> usize {
    usize::from(pattern != 0)
}

/// Additional launches that are made if some of the wanted ones have no valid repetition.
const SPARE: u32 = 3;

/// The level of the sign test of one candidate. Exploring launches play no part in it, so the number of candidates
/// among which it was the best does not matter. A point at which it fails tries the next candidate, up to
/// [`MOST_TRIED`] per deployment and class of operators, whether or not the point was explored. Between two points a
/// candidate must be faster at both of them.
fn level(confidence: f64) -> f64 {
    (1.0 - confidence) / MOST_TRIED as f64
}

/// The number of launches in which a candidate is compared with the default; it must be faster in all of them.
///
/// A candidate that is as fast as the default is faster in one launch with probability 1/2, and in all of `n` launches
/// with `2^-n`. With at most [`MOST_TRIED`] candidates at a point, the probability of replacing the default wrongly is
/// at most `3 * 2^-n`, which must not exceed `1 - confidence`: 6 launches for 0.95, with 3/64 = 4.7 %. The further
/// condition that the median gain is material makes it smaller.
///
/// These suffice to find material gains: where medians of launches vary by 5 %, ratios vary by 7 %, and a candidate
/// that is 20 % faster is faster in one launch with probability 99.5 % and in all 6 with 97 %. The tests of this crate
/// (`power.rs`) count both.
pub fn confirming_launches(confidence: f64) -> u32 {
    values_for_sign_test(level(confidence), 0)
}

/// The result of the comparison of a candidate with the default in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Finding {
    /// It was not measured in enough launches.
    Open,
    /// It is faster than the default, by this gain in the pattern of calls with the smallest one.
    Confirmed(PairedRatio),
    /// Fresh launches do not show that it is faster.
    NotFaster,
    /// It seems faster in one pattern of calls and not in another.
    PatternsDisagree,
    /// It fails, or the default does.
    Failed,
}

/// The measurements of launches that confirm choices.
#[derive(Clone, Debug, Default)]
pub struct Fresh {
    /// By pattern of calls, that of the campaign first.
    patterns: Vec<Known>,
    failed: BTreeSet<(Cell, Candidate)>,
    /// The number of launches wanted for each candidate in each pattern.
    pub launches: u32,
    options: DecideOptions,
}

/// The measurements by calls of one pattern.
#[derive(Clone, Debug, Default)]
struct Known {
    summaries: BTreeMap<(Cell, Candidate), Summary>,
    /// The medians of launches. Within a launch all candidates are timed in batches of the same length, so their ratios
    /// can be compared with those of launches with other batches. A median of 0 is not kept, as in [`summarise`].
    medians: BTreeMap<(Cell, Candidate), Vec<(u32, f64)>>,
    /// The number of launches that measured a candidate, also if their times are not used.
    tried: BTreeMap<(Cell, Candidate), u32>,
}

impl Fresh {
    /// Summarises the samples of each pattern of calls, that of the campaign first.
    ///
    /// # Errors
    /// The errors of [`summarise`].
    pub fn of(
        patterns: &[(Pattern, Vec<Sample>)],
        failures: &[(Subject, Candidate)],
        options: &DecideOptions,
    ) -> Result<Self, FitError> {
        let failed = failures
            .iter()
            .filter_map(|(subject, candidate)| Some((subject.cell()?, candidate.clone())));
        Ok(Self {
            patterns: patterns
                .iter()
                .map(|(pattern, samples)| Known::of(*pattern, samples))
                .collect::<Result<_, _>>()?,
            failed: failed.collect(),
            launches: confirming_launches(options.confidence),
            options: *options,
        })
    }

    /// The number of patterns of calls.
    pub(crate) fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// The number of launches that have measured a cell in a pattern.
    pub fn rounds(&self, pattern: usize, cell: &Cell) -> u32 {
        let tried = &self.patterns[pattern].tried;
        let rounds = tried.get(&(*cell, Candidate::Default));
        rounds.copied().unwrap_or(0)
    }

    /// The cells that launches have measured.
    pub(crate) fn cells(&self) -> BTreeSet<Cell> {
        let tried = self.patterns.iter().flat_map(|known| known.tried.keys());
        tried.map(|(cell, _)| *cell).collect()
    }

    /// The number of launches that have compared a candidate with the default in a pattern. It is the number wanted if
    /// no more launches are needed, because the candidate failed or is refuted in any pattern.
    pub(crate) fn done(&self, pattern: usize, cell: &Cell, candidate: &Candidate) -> u32 {
        let known = &self.patterns[pattern];
        let tried = known.tried.get(&(*cell, candidate.clone()));
        let is_hopeless = tried.is_some_and(|tried| *tried >= self.launches + SPARE);
        let is_refuted = || (0..self.patterns.len()).any(|p| self.is_refuted(p, cell, candidate));
        match is_hopeless || self.has_failed(cell, candidate) || is_refuted() {
            true => self.launches,
            false => (known.ratios(cell, candidate).len() as u32).min(self.launches),
        }
    }

    /// Whether no further launches can confirm a candidate: it was slower in more of them than allowed, or its gain was
    /// not material in more than half of them.
    fn is_refuted(&self, pattern: usize, cell: &Cell, candidate: &Candidate) -> bool {
        let ratios = self.patterns[pattern].ratios(cell, candidate);
        let below = |least: f64| ratios.iter().filter(|ratio| **ratio < least).count();
        let contrary = ratios.iter().filter(|ratio| **ratio <= 1.0).count();
        let most = (self.launches as usize).max(ratios.len());
        contrary > contrary_launches(pattern) || 2 * below(1.0 + self.options.materiality) > most
    }

    fn has_failed(&self, cell: &Cell, candidate: &Candidate) -> bool {
        let mut either = [candidate, &Candidate::Default].into_iter();
        either.any(|candidate| self.failed.contains(&(*cell, candidate.clone())))
    }

    /// The summaries of a cell in one pattern, the default first.
    pub(crate) fn summaries(&self, pattern: usize, cell: &Cell) -> Vec<&Summary> {
        let from = (*cell, Candidate::Default);
        let of_cell = self.patterns[pattern].summaries.range(from..);
        let of_cell = of_cell.take_while(|((other, _), _)| other == cell);
        of_cell.map(|(_, summary)| summary).collect()
    }

    /// The candidates that were compared with the default in a cell.
    pub(crate) fn candidates(&self, cell: &Cell) -> BTreeSet<Candidate> {
        let patterns = 0..self.patterns.len();
        let all = patterns.flat_map(|pattern| self.summaries(pattern, cell));
        let rivals = all.filter(|summary| summary.candidate != Candidate::Default);
        rivals.map(|summary| summary.candidate.clone()).collect()
    }

    /// Whether the launches confirm a candidate.
    pub(crate) fn confirms(&self, cell: &Cell, candidate: &Candidate) -> bool {
        matches!(self.finding(cell, candidate), Finding::Confirmed(..))
    }

    /// The finding about a candidate. It is confirmed if it is faster than the default in every launch of the
    /// campaign's own pattern and in all launches but at most one of each other pattern, and if its median gain is
    /// material in all patterns.
    pub(crate) fn finding(&self, cell: &Cell, candidate: &Candidate) -> Finding {
        if self.has_failed(cell, candidate) {
            return Finding::Failed;
        }
        let places = 0..self.patterns.len();
        if self.is_refuted(0, cell, candidate) {
            return Finding::NotFaster;
        }
        let mut others = places.clone().skip(1);
        if others.any(|pattern| self.is_refuted(pattern, cell, candidate)) {
            return match self.faster_in(0, cell, candidate) {
                Some(_) => Finding::PatternsDisagree,
                None => Finding::NotFaster,
            };
        }
        let is_open = |pattern: usize| self.done(pattern, cell, candidate) < self.launches;
        if places.clone().any(is_open) {
            return Finding::Open;
        }
        let has_too_few = |pattern: usize| {
            let ratios = self.patterns[pattern].ratios(cell, candidate);
            ratios.len() < self.launches as usize
        };
        if places.clone().any(has_too_few) {
            return Finding::NotFaster;
        }
        let speedups: Vec<Option<PairedRatio>> = places
            .map(|pattern| self.faster_in(pattern, cell, candidate))
            .collect();
        let faster = speedups.iter().copied().flatten();
        match faster.min_by(|a, b| a.median.total_cmp(&b.median)) {
            Some(_) if speedups.contains(&None) => Finding::PatternsDisagree,
            Some(least) if self.is_sure(cell, candidate) => Finding::Confirmed(least),
            _ => Finding::NotFaster,
        }
    }

    /// The speed-up of a candidate in a pattern, if it is confirmed and material there.
    fn faster_in(&self, pattern: usize, cell: &Cell, candidate: &Candidate) -> Option<PairedRatio> {
        let known = &self.patterns[pattern];
        let speedup = known.speedup(cell, candidate, self.options.confidence)?;
        (speedup.median >= 1.0 + self.options.materiality).then_some(speedup)
    }

    /// Whether the first pattern shows significantly that the candidate is faster.
    fn is_sure(&self, cell: &Cell, candidate: &Candidate) -> bool {
        let ratios = self.patterns[0].ratios(cell, candidate);
        let above = ratios.iter().filter(|ratio| **ratio > 1.0).count();
        sign_test(above as u32, ratios.len() as u32) <= level(self.options.confidence)
    }

    /// Whether the intervals of all patterns lie above 1, at this coverage.
    pub(crate) fn is_certain(&self, cell: &Cell, candidate: &Candidate, coverage: f64) -> bool {
        self.patterns.iter().all(|known| {
            let speedup = known.speedup(cell, candidate, coverage);
            speedup.is_some_and(|s| s.interval.low > 1.0 && s.interval.coverage >= coverage)
        })
    }
}

impl Known {
    fn of(pattern: Pattern, samples: &[Sample]) -> Result<Self, FitError> {
        let mut launches: BTreeMap<(Cell, Candidate), BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
        for sample in samples {
            if let Subject::Cell(cell) = sample.subject {
                let key = (cell, sample.candidate.clone());
                let of_launch = launches.entry(key).or_default();
                let seconds = of_launch.entry(sample.launch).or_default();
                seconds.extend(&sample.seconds);
            }
        }
        let medians = launches.iter().map(|(key, launches)| {
            let medians = launches
                .iter()
                .filter_map(|(launch, seconds)| Some((*launch, median(seconds)?)))
                .filter(|(_, median)| *median > 0.0);
            (key.clone(), medians.collect())
        });
        let summaries = summarise(samples, pattern)?.into_iter();
        let of_cells = summaries.filter_map(|summary| {
            Some((
                (summary.subject.cell()?, summary.candidate.clone()),
                summary,
            ))
        });
        Ok(Self {
            summaries: of_cells.collect(),
            medians: medians.collect(),
            tried: launches
                .into_iter()
                .map(|(key, launches)| (key, launches.len() as u32))
                .collect(),
        })
    }

    fn medians(&self, cell: &Cell, candidate: &Candidate) -> &[(u32, f64)] {
        let medians = self.medians.get(&(*cell, candidate.clone()));
        medians.map_or(&[], Vec::as_slice)
    }

    /// The default's time divided by the candidate's, launch by launch.
    fn ratios(&self, cell: &Cell, candidate: &Candidate) -> Vec<f64> {
        let default = self.medians(cell, &Candidate::Default);
        paired_ratios(default, self.medians(cell, candidate))
    }

    fn speedup(&self, cell: &Cell, candidate: &Candidate, coverage: f64) -> Option<PairedRatio> {
        let default = self.medians(cell, &Candidate::Default);
        paired_ratio(default, self.medians(cell, candidate), coverage)
    }
}
