//! What has been measured.

use std::collections::{BTreeMap, BTreeSet};

use statistics::median;
use vocabulary::{Candidate, Cell};

/// The medians of launches, by cell.
#[derive(Clone, Debug, Default)]
pub struct Known {
    cells: BTreeMap<Cell, KnownCell>,
}

/// What is known of one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownCell {
    /// The median of each launch, in seconds, by candidate.
    times: BTreeMap<Candidate, BTreeMap<u32, f64>>,
    /// The launches in which candidates were measured, also where no time came of it.
    tried: BTreeMap<Candidate, BTreeSet<u32>>,
    failed: BTreeSet<Candidate>,
}

/// How a candidate stands beside the library's default.
#[derive(Clone, Debug, PartialEq)]
pub struct RelativeTime {
    /// Which.
    pub candidate: Candidate,
    /// Its time divided by the default's, paired within launches: the median over launches.
    pub ratio: f64,
    /// The number of launches in which it was measured beside the default.
    pub launches: u32,
}

impl Known {
    /// Adds the median of a launch, in seconds.
    pub fn add(&mut self, cell: Cell, candidate: &Candidate, launch: u32, seconds: f64) {
        self.add_attempt(cell, candidate, launch);
        let times = &mut self.cells.entry(cell).or_default().times;
        let of_candidate = times.entry(candidate.clone()).or_default();
        of_candidate.insert(launch, seconds);
    }

    /// Records that a launch measured a candidate in a cell, whatever came of it.
    pub fn add_attempt(&mut self, cell: Cell, candidate: &Candidate, launch: u32) {
        let tried = &mut self.cells.entry(cell).or_default().tried;
        tried.entry(candidate.clone()).or_default().insert(launch);
    }

    /// Records that a candidate failed in a cell: it is not asked for there again.
    pub fn add_failure(&mut self, cell: Cell, candidate: &Candidate) {
        let failed = &mut self.cells.entry(cell).or_default().failed;
        failed.insert(candidate.clone());
    }

    /// How the candidates of a cell stand that were measured beside the default, fastest first, the
    /// default among them; those that failed are left out. Empty if the default failed.
    pub fn standings(&self, cell: &Cell) -> Vec<RelativeTime> {
        self.cell(cell).map_or_else(Vec::new, KnownCell::standings)
    }

    pub(crate) fn cell(&self, cell: &Cell) -> Option<&KnownCell> {
        self.cells.get(cell)
    }

    /// How many launches measured a cell.
    pub fn launches(&self, cell: &Cell) -> u32 {
        self.cell(cell).map_or(0, KnownCell::launches)
    }

    /// Whether anything was compared with the default in a cell.
    pub(crate) fn is_compared(&self, cell: &Cell) -> bool {
        self.cell(cell).is_some_and(KnownCell::has_rivals)
    }

    /// The cells in which anything was compared with the default.
    pub(crate) fn compared(&self) -> impl Iterator<Item = &Cell> {
        let compared = self.cells.iter().filter(|(_, known)| known.has_rivals());
        compared.map(|(cell, _)| cell)
    }

    /// The measured cells.
    pub fn measured(&self) -> impl Iterator<Item = &Cell> {
        let measured = self.cells.iter().filter(|(_, known)| known.launches() > 0);
        measured.map(|(cell, _)| cell)
    }
}

impl KnownCell {
    /// Launches that measured any candidate.
    pub(crate) fn launches(&self) -> u32 {
        let all: BTreeSet<u32> = self.tried.values().flatten().copied().collect();
        u32::try_from(all.len()).unwrap_or(u32::MAX)
    }

    /// Whether anything was measured or has failed beside the default.
    pub(crate) fn has_rivals(&self) -> bool {
        let mut all = self.tried.keys().chain(&self.failed);
        self.launches() > 0 && all.any(|candidate| *candidate != Candidate::Default)
    }

    /// The candidates that were measured, with a time or without.
    pub(crate) fn tried(&self) -> impl Iterator<Item = &Candidate> {
        self.tried.keys()
    }

    pub(crate) fn has_failed(&self, candidate: &Candidate) -> bool {
        self.failed.contains(candidate)
    }

    /// The candidates that were measured, failed or not.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.times.keys()
    }

    /// The median time of a candidate over launches, in seconds.
    pub(crate) fn seconds(&self, candidate: &Candidate) -> Option<f64> {
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
        // Equally fast ones stand in a fixed order, the default first.
        standings.sort_by(|a, b| {
            let by_ratio = a.ratio.total_cmp(&b.ratio);
            by_ratio.then_with(|| a.candidate.cmp(&b.candidate))
        });
        standings
    }
}
