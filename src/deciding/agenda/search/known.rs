//! The measurements so far.

use std::collections::{BTreeMap, BTreeSet};

use statistics::median;
use vocabulary::{Candidate, Cell};

/// The medians of launches, by cell.
#[derive(Clone, Debug, Default)]
pub struct KnownMeasurements {
    cells: BTreeMap<Cell, KnownCell>,
}

/// The measurements of one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownCell {
    /// The median of each launch, in seconds, by candidate.
    times: BTreeMap<Candidate, BTreeMap<u32, f64>>,
    /// The launches in which candidates were measured, with or without a valid time.
    tried: BTreeMap<Candidate, BTreeSet<u32>>,
    failed: BTreeSet<Candidate>,
}

/// A candidate's time relative to that of the library's default.
#[derive(Clone, Debug, PartialEq)]
pub struct RelativeTime {
    /// The candidate.
    pub candidate: Candidate,
    /// Its time divided by the default's, paired within launches: the median over launches.
    pub ratio: f64,
    /// The number of launches in which it was measured beside the default.
    pub launches: u32,
}

impl KnownMeasurements {
    /// Adds a launch's median time of a candidate, in seconds.
    pub fn add_time(&mut self, cell: Cell, candidate: &Candidate, launch: u32, seconds: f64) {
        self.add_attempt(cell, candidate, launch);
        let times = &mut self.cells.entry(cell).or_default().times;
        let of_candidate = times.entry(candidate.clone()).or_default();
        of_candidate.insert(launch, seconds);
    }

    /// Records that a launch measured a candidate in a cell, with or without a valid time.
    pub fn add_attempt(&mut self, cell: Cell, candidate: &Candidate, launch: u32) {
        let tried = &mut self.cells.entry(cell).or_default().tried;
        tried.entry(candidate.clone()).or_default().insert(launch);
    }

    /// Records that a candidate failed in a cell, where it is not measured again.
    pub fn add_failure(&mut self, cell: Cell, candidate: &Candidate) {
        let failed = &mut self.cells.entry(cell).or_default().failed;
        failed.insert(candidate.clone());
    }

    /// The relative times of the candidates measured in the same launches as the default, fastest first, including the
    /// default and without candidates that failed. Empty if the default failed.
    pub fn standings(&self, cell: &Cell) -> Vec<RelativeTime> {
        self.known_cell(cell)
            .map_or_else(Vec::new, KnownCell::standings)
    }

    pub(crate) fn known_cell(&self, cell: &Cell) -> Option<&KnownCell> {
        self.cells.get(cell)
    }

    /// The number of launches that measured a cell.
    pub fn launch_count(&self, cell: &Cell) -> u32 {
        self.known_cell(cell).map_or(0, KnownCell::launch_count)
    }

    /// Whether a candidate has failed in a cell.
    pub(crate) fn has_failed(&self, cell: &Cell, candidate: &Candidate) -> bool {
        self.known_cell(cell)
            .is_some_and(|known| known.has_failed(candidate))
    }

    /// Whether any candidate was compared with the default in a cell.
    pub(crate) fn is_compared(&self, cell: &Cell) -> bool {
        self.known_cell(cell).is_some_and(KnownCell::has_rivals)
    }

    /// The cells in which any candidate was compared with the default.
    pub(crate) fn compared_cells(&self) -> impl Iterator<Item = &Cell> {
        let compared = self.cells.iter().filter(|(_, known)| known.has_rivals());
        compared.map(|(cell, _)| cell)
    }

    /// What is at stake by the measurements so far, by kind of cell: the share of the default's time that the fastest
    /// candidate saves, times the weight of the cell, on average over the cells in which candidates were compared with the
    /// default.
    pub fn stakes_by_kind<K: Ord>(
        &self,
        kind: impl Fn(&Cell) -> K,
        weight: impl Fn(&Cell) -> f64,
    ) -> BTreeMap<K, f64> {
        let mut savings: BTreeMap<K, Vec<f64>> = BTreeMap::new();
        for cell in self.compared_cells() {
            let standings = self.standings(cell);
            let fastest = standings.first().map_or(1.0, |fastest| fastest.ratio);
            savings
                .entry(kind(cell))
                .or_default()
                .push((1.0 - fastest).max(0.0) * weight(cell));
        }
        let averages = savings
            .into_iter()
            .map(|(key, savings)| (key, savings.iter().sum::<f64>() / savings.len() as f64));
        averages.collect()
    }

    /// The measured cells.
    pub fn measured_cells(&self) -> impl Iterator<Item = &Cell> {
        let measured = self
            .cells
            .iter()
            .filter(|(_, known)| known.launch_count() > 0);
        measured.map(|(cell, _)| cell)
    }
}

impl KnownCell {
    /// The number of launches that measured any candidate.
    pub(crate) fn launch_count(&self) -> u32 {
        let all: BTreeSet<u32> = self.tried.values().flatten().copied().collect();
        u32::try_from(all.len()).unwrap_or(u32::MAX)
    }

    /// Whether any candidate other than the default was measured or has failed.
    pub(crate) fn has_rivals(&self) -> bool {
        let mut all = self.tried.keys().chain(&self.failed);
        self.launch_count() > 0 && all.any(|candidate| *candidate != Candidate::Default)
    }

    /// The candidates that were measured, with or without a valid time.
    pub(crate) fn tried_candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.tried.keys()
    }

    pub(crate) fn has_failed(&self, candidate: &Candidate) -> bool {
        self.failed.contains(candidate)
    }

    /// The candidates that have times, including those that failed in other launches.
    pub(crate) fn timed_candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.times.keys()
    }

    /// The median time of a candidate over launches, in seconds.
    pub(crate) fn median_seconds(&self, candidate: &Candidate) -> Option<f64> {
        let times = self.times.get(candidate)?;
        median(&times.values().copied().collect::<Vec<_>>())
    }

    pub(crate) fn standings(&self) -> Vec<RelativeTime> {
        if self.has_failed(&Candidate::Default) {
            return Vec::new();
        }
        let Some(default) = self.times.get(&Candidate::Default) else {
            return Vec::new();
        };
        // The placebo takes part in no decision.
        let able = self
            .times
            .iter()
            .filter(|(c, _)| **c != Candidate::Placebo && !self.has_failed(c));
        let mut standings: Vec<RelativeTime> = able
            .filter_map(|(candidate, times)| {
                let paired = times
                    .iter()
                    .filter_map(|(launch, seconds)| Some(seconds / default.get(launch)?));
                let ratios: Vec<f64> = paired.collect();
                Some(RelativeTime {
                    candidate: candidate.clone(),
                    ratio: median(&ratios)?,
                    launches: u32::try_from(ratios.len()).unwrap_or(u32::MAX),
                })
            })
            .collect();
        // Candidates of the same speed have a fixed order, the default first.
        standings.sort_by(|a, b| {
            let by_ratio = a.ratio.total_cmp(&b.ratio);
            by_ratio.then_with(|| a.candidate.cmp(&b.candidate))
        });
        standings
    }
}
