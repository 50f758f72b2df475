//! Confirmation by fresh launches that a candidate is faster than the default.

use std::collections::{BTreeMap, BTreeSet};

use results::Summary;
use statistics::{PairedRatio, median, paired_ratio, paired_ratios, values_for_sign_test};
use vocabulary::{Candidate, Cell, Pattern, Sample, Subject};

use crate::joint::shares_one_rule;
use crate::{DecideOptions, FitError, summarise_samples};

/// The largest number of candidates tried at a point, one after the other.
pub(crate) const MOST_TRIED: usize = 3;

/// The most launches that a comparison may take, however small the probability that is left for the last of them.
const MOST_LAUNCHES: u32 = 60;

/// Additional launches that are made if some of the wanted ones have no valid repetition.
const SPARE: u32 = 3;

/// The level of the sign test of one candidate. Exploring launches play no part in it, so the number of candidates
/// among which it was the best does not matter. A point at which it fails tries the next candidate, up to
/// [`MOST_TRIED`] per deployment and class of operators, whether or not the point was explored. Between two points a
/// candidate must be faster at both of them.
fn sign_test_level(confidence: f64) -> f64 {
    (1.0 - confidence) / MOST_TRIED as f64
}

/// The number of launches in which a candidate is compared with the default first. A candidate that is faster in all of
/// them is confirmed; one that is slower in a single launch is measured in [further ones](launches_with_one_contrary).
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
    values_for_sign_test(sign_test_level(confidence), 0)
}

/// The number of launches in which a candidate must be faster, all but one, if it was slower in one of the first
/// [`confirming_launches`].
///
/// In the campaign's own pattern of calls this keeps the probability of replacing the default wrongly: a candidate as
/// fast as the default passes in the first `n` launches with `2^-n`, or is slower in one of these and faster in all
/// others of `m` launches, with `n * 2^-m`. Both together must not exceed the level of one candidate: 13 launches for
/// 0.95, with 3 (1/64 + 6/8192) = 4.9 %. Another pattern can only refuse what the own one shows, so there it suffices
/// that the interval lies above 1: 9 launches for 0.95.
pub fn launches_with_one_contrary(confidence: f64, is_own_pattern: bool) -> u32 {
    if !is_own_pattern {
        // The interval has two ends.
        return values_for_sign_test((1.0 - confidence) / 2.0, 1);
    }
    let first = confirming_launches(confidence);
    let without = 0.5_f64.powf(f64::from(first));
    let left = sign_test_level(confidence) - without;
    let is_rare_enough =
        |launches: &u32| f64::from(first) * 0.5_f64.powf(f64::from(*launches)) <= left;
    (first + 1..=MOST_LAUNCHES)
        .find(is_rare_enough)
        .unwrap_or(MOST_LAUNCHES)
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
    /// The campaign's own pattern of calls confirms it, and another one does not.
    PatternsDisagree,
    /// It fails, or the default does.
    Failed,
}

/// The measurements of launches that confirm choices.
#[derive(Clone, Debug, Default)]
pub struct FreshMeasurements {
    /// By pattern of calls, that of the campaign first.
    patterns: Vec<PatternMeasurements>,
    failed: BTreeSet<(Cell, Candidate)>,
    /// The number of launches wanted for each candidate in each pattern, if it is faster in all of them.
    pub launches: u32,
    options: DecideOptions,
}

/// The measurements by calls of one pattern.
#[derive(Clone, Debug, Default)]
struct PatternMeasurements {
    summaries: BTreeMap<(Cell, Candidate), Summary>,
    /// The medians of launches. Within a launch all candidates are timed in batches of the same length, so their ratios
    /// can be compared with those of launches with other batches. A median of 0 is not kept, as in
    /// [`summarise_samples`].
    medians: BTreeMap<(Cell, Candidate), Vec<(u32, f64)>>,
    /// The number of launches that measured a candidate, also if their times are not used.
    tried: BTreeMap<(Cell, Candidate), u32>,
}

impl FreshMeasurements {
    /// Summarises the samples of each pattern of calls, that of the campaign first.
    ///
    /// # Errors
    /// The errors of [`summarise_samples`].
    pub fn from_samples(
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
                .map(|(pattern, samples)| PatternMeasurements::from_samples(*pattern, samples))
                .collect::<Result<_, _>>()?,
            failed: failed.collect(),
            launches: confirming_launches(options.confidence),
            options: *options,
        })
    }

    /// The number of patterns of calls.
    pub fn pattern_count(&self) -> usize {
        self.patterns.len()
    }

    /// The number of launches that have measured a cell in a pattern.
    pub fn launches_of_cell(&self, pattern: usize, cell: &Cell) -> u32 {
        let tried = &self.patterns[pattern].tried;
        let rounds = tried.get(&(*cell, Candidate::Default));
        rounds.copied().unwrap_or(0)
    }

    /// The cells that launches have measured.
    pub(crate) fn measured_cells(&self) -> BTreeSet<Cell> {
        let tried = self.patterns.iter().flat_map(|known| known.tried.keys());
        tried.map(|(cell, _)| *cell).collect()
    }

    /// The number of launches in which a candidate is to be compared with the default in a pattern: more if it was
    /// slower in exactly one of the first.
    pub fn wanted_launches(&self, pattern: usize, cell: &Cell, candidate: &Candidate) -> u32 {
        let ratios = self.patterns[pattern].launch_ratios(cell, candidate);
        self.wanted_launches_for_ratios(pattern, &ratios)
    }

    fn wanted_launches_for_ratios(&self, pattern: usize, ratios: &[f64]) -> u32 {
        // After more than one contrary launch the candidate is not confirmed by further ones.
        if count_contrary_launches(ratios) == 1 {
            launches_with_one_contrary(self.options.confidence, pattern == 0)
        } else {
            self.launches
        }
    }

    /// The number of launches that have compared a candidate with the default in a pattern. It is the number wanted if
    /// no more launches are needed, because the candidate failed or is refuted in any pattern.
    pub(crate) fn completed_launches(
        &self,
        pattern: usize,
        cell: &Cell,
        candidate: &Candidate,
    ) -> u32 {
        let known = &self.patterns[pattern];
        let wanted = self.wanted_launches(pattern, cell, candidate);
        let tried = known.tried.get(&(*cell, candidate.clone()));
        let is_hopeless = tried.is_some_and(|tried| *tried >= wanted + SPARE);
        let is_refuted = || (0..self.patterns.len()).any(|p| self.is_refuted(p, cell, candidate));
        if is_hopeless || self.has_failed(cell, candidate) || is_refuted() {
            wanted
        } else {
            (known.launch_ratios(cell, candidate).len() as u32).min(wanted)
        }
    }

    /// Whether no further launches can confirm a candidate: it was slower in more than one of them, or its gain was not
    /// material in more than half of them.
    fn is_refuted(&self, pattern: usize, cell: &Cell, candidate: &Candidate) -> bool {
        // It need not be faster in each cell where one rule holds for all, so it is measured until its losses show.
        if shares_one_rule(cell.collective) {
            return false;
        }
        let ratios = self.patterns[pattern].launch_ratios(cell, candidate);
        let least = 1.0 + self.options.materiality;
        let immaterial = ratios.iter().filter(|ratio| **ratio < least).count();
        let most = (self.wanted_launches_for_ratios(pattern, &ratios) as usize).max(ratios.len());
        count_contrary_launches(&ratios) > 1 || 2 * immaterial > most
    }

    fn has_failed(&self, cell: &Cell, candidate: &Candidate) -> bool {
        let mut either = [candidate, &Candidate::Default].into_iter();
        either.any(|compared| self.failed.contains(&(*cell, compared.clone())))
    }

    /// The summaries of a cell in one pattern, the default first.
    pub(crate) fn cell_summaries(&self, pattern: usize, cell: &Cell) -> Vec<&Summary> {
        let from = (*cell, Candidate::Default);
        let of_cell = self.patterns[pattern].summaries.range(from..);
        let of_cell = of_cell.take_while(|((other, _), _)| other == cell);
        of_cell.map(|(_, summary)| summary).collect()
    }

    /// The candidates that were compared with the default in a cell.
    pub(crate) fn compared_candidates(&self, cell: &Cell) -> BTreeSet<Candidate> {
        let patterns = 0..self.patterns.len();
        let all = patterns.flat_map(|pattern| self.cell_summaries(pattern, cell));
        let rivals = all.filter(|summary| summary.candidate != Candidate::Default);
        rivals.map(|summary| summary.candidate.clone()).collect()
    }

    /// The default's time divided by the candidate's, launch by launch, for each cell, candidate and pattern.
    pub(crate) fn all_ratios(&self) -> Vec<Vec<f64>> {
        let of_pattern = |known: &PatternMeasurements| -> Vec<Vec<f64>> {
            let keys = known.medians.keys();
            let rivals = keys.filter(|(_, candidate)| *candidate != Candidate::Default);
            rivals
                .map(|(cell, candidate)| known.launch_ratios(cell, candidate))
                .collect()
        };
        self.patterns.iter().flat_map(of_pattern).collect()
    }

    /// Whether the launches confirm a candidate.
    pub(crate) fn is_confirmed(&self, cell: &Cell, candidate: &Candidate) -> bool {
        matches!(
            self.judge_candidate(cell, candidate),
            Finding::Confirmed(..)
        )
    }

    /// The finding about a candidate. It is confirmed if in each pattern of calls it is faster than the default in all
    /// launches, or in all but one of a larger number, its median gain is material, and the interval of the gain lies
    /// above 1.
    pub(crate) fn judge_candidate(&self, cell: &Cell, candidate: &Candidate) -> Finding {
        if self.has_failed(cell, candidate) {
            return Finding::Failed;
        }
        let patterns = 0..self.patterns.len();
        let is_refuted = |pattern: usize| self.is_refuted(pattern, cell, candidate);
        if patterns.clone().any(is_refuted) {
            // Another pattern disagrees only with what the campaign's own pattern shows for sure.
            let is_confirmed_in_own = self.confirmed_speedup_in(0, cell, candidate).is_some();
            return if is_confirmed_in_own {
                Finding::PatternsDisagree
            } else {
                Finding::NotFaster
            };
        }
        let is_open = |pattern: usize| {
            self.completed_launches(pattern, cell, candidate)
                < self.wanted_launches(pattern, cell, candidate)
        };
        if patterns.clone().any(is_open) {
            return Finding::Open;
        }
        let speedups: Vec<Option<PairedRatio>> = patterns
            .map(|pattern| self.confirmed_speedup_in(pattern, cell, candidate))
            .collect();
        let is_confirmed_in_all = speedups.iter().all(Option::is_some);
        let least = speedups.iter().flatten();
        let least = least.min_by(|a, b| a.median.total_cmp(&b.median));
        match least {
            Some(least) if is_confirmed_in_all => Finding::Confirmed(*least),
            Some(_) if speedups[0].is_some() => Finding::PatternsDisagree,
            _ => Finding::NotFaster,
        }
    }

    /// The speed-up of a candidate in a pattern, if enough launches confirm it there.
    fn confirmed_speedup_in(
        &self,
        pattern: usize,
        cell: &Cell,
        candidate: &Candidate,
    ) -> Option<PairedRatio> {
        let known = &self.patterns[pattern];
        let ratios = known.launch_ratios(cell, candidate);
        let has_enough = ratios.len() >= self.wanted_launches_for_ratios(pattern, &ratios) as usize;
        let speedup = known.paired_speedup(cell, candidate, self.options.confidence)?;
        let is_material = speedup.median >= 1.0 + self.options.materiality;
        let is_faster =
            has_enough && count_contrary_launches(&ratios) <= 1 && speedup.interval.low > 1.0;
        (is_faster && is_material).then_some(speedup)
    }

    /// Whether a candidate was compared with the default in enough launches, fails nowhere, and loses in no pattern.
    pub(crate) fn holds_its_own(&self, cell: &Cell, candidate: &Candidate) -> bool {
        let (options, confidence) = (&self.options, self.options.confidence);
        !self.has_failed(cell, candidate)
            && (0..self.patterns.len()).all(|pattern| {
                let known = &self.patterns[pattern];
                let speedup = known.paired_speedup(cell, candidate, confidence);
                speedup.is_some_and(|speedup| {
                    speedup.launches >= self.launches && !options.is_loss(&speedup)
                })
            })
    }

    /// Whether the intervals of all patterns lie above 1, at this coverage.
    pub(crate) fn is_certain(&self, cell: &Cell, candidate: &Candidate, coverage: f64) -> bool {
        self.patterns.iter().all(|known| {
            let speedup = known.paired_speedup(cell, candidate, coverage);
            speedup.is_some_and(|s| s.interval.low > 1.0 && s.interval.coverage >= coverage)
        })
    }
}

/// The number of launches in which a candidate was not faster, from the default's time divided by its time.
fn count_contrary_launches(ratios: &[f64]) -> usize {
    ratios.iter().filter(|ratio| **ratio <= 1.0).count()
}

impl PatternMeasurements {
    fn from_samples(pattern: Pattern, samples: &[Sample]) -> Result<Self, FitError> {
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
        let summaries = summarise_samples(samples, pattern)?.into_iter();
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

    fn launch_medians(&self, cell: &Cell, candidate: &Candidate) -> &[(u32, f64)] {
        let medians = self.medians.get(&(*cell, candidate.clone()));
        medians.map_or(&[], Vec::as_slice)
    }

    /// The default's time divided by the candidate's, launch by launch.
    fn launch_ratios(&self, cell: &Cell, candidate: &Candidate) -> Vec<f64> {
        let default = self.launch_medians(cell, &Candidate::Default);
        paired_ratios(default, self.launch_medians(cell, candidate))
    }

    fn paired_speedup(
        &self,
        cell: &Cell,
        candidate: &Candidate,
        coverage: f64,
    ) -> Option<PairedRatio> {
        let default = self.launch_medians(cell, &Candidate::Default);
        paired_ratio(default, self.launch_medians(cell, candidate), coverage)
    }
}
