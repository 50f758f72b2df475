//! Cells that share one rule: all sizes and distributions of a shape, where a collective does not decide by size.
//!
//! A candidate that replaces the default there must lose in none of these cells, so it is compared in all of them: all
//! candidates in the first launch of each cell, then those that may still be chosen. Candidates that a campaign gets
//! later are compared in a further launch of each cell.

use std::collections::{BTreeMap, BTreeSet};

use schedule::Collective;
use vocabulary::{Candidate, Cell};

use super::cell::{MOST_ROUNDS, without_block_size};
use super::guide::Guide;

/// The largest ratio of a candidate's time to the default's, from few launches, with which it may still lose nowhere.
const MOST_RATIO: f64 = 1.15;

/// The candidates of all classes together, and of each other class, that are measured until they have enough launches.
const OF_ALL: usize = 2;
const OF_CLASS: usize = 1;

/// Whether all cells of a collective on a shape share one rule. A barrier has only one cell.
pub(crate) fn shares_one_rule(collective: Collective) -> bool {
    collective.is_irregular() && !collective.decides_by_size()
}

/// A candidate's times relative to the default's in the measured cells of a shape.
struct Standing {
    candidate: Candidate,
    /// The largest ratio.
    worst: f64,
    /// The mean of the ratios' logarithms.
    mean_log: f64,
}

impl Guide<'_> {
    /// The candidates that were not yet tried in a cell, after the default; empty if all were. One block size is enough:
    /// its prediction changes with the measurements.
    pub(super) fn untried_candidates(&self, cell: &Cell) -> Vec<Candidate> {
        let known = self.known.known_cell(cell);
        let tried = known.into_iter().flat_map(|known| known.tried_candidates());
        let tried: BTreeSet<Candidate> = tried.map(without_block_size).collect();
        let mut untried = self.all_candidates(cell);
        untried.retain(|candidate| !tried.contains(&without_block_size(candidate)));
        if !untried.is_empty() && !untried.contains(&Candidate::Default) {
            untried.insert(0, Candidate::Default);
        }
        untried
    }

    /// The candidates of a cell: all that have not failed there.
    fn all_candidates(&self, cell: &Cell) -> Vec<Candidate> {
        let families = self.families_to_try(cell);
        let members = families.iter().flat_map(|family| {
            let sizes = self.block_sizes(cell, family, &[]).into_iter();
            sizes.filter_map(|size| family.candidate_with_blocks(cell, size))
        });
        let rivals = self.campaign.merge_equivalents(cell, members.collect());
        let mut candidates = vec![Candidate::Default];
        for rival in rivals.distinct.into_iter().chain((self.others)(cell)) {
            if !candidates.contains(&rival) && !self.known.has_failed(cell, &rival) {
                candidates.push(rival);
            }
        }
        candidates
    }

    /// The candidates to compare in the next launch of a cell; empty if the cell is done. `grid` are the campaign's cells.
    pub(super) fn candidates_for_one_rule(&self, cell: &Cell, grid: &[Cell]) -> Vec<Candidate> {
        let wanted_launches = self.campaign.launches;
        let Some(known) = self.known.known_cell(cell) else {
            return Vec::new();
        };
        if known.launch_count() >= wanted_launches.saturating_mul(MOST_ROUNDS) {
            return Vec::new();
        }
        let standings = self.standings_on_shape(cell, grid);
        let may_win = |standing: &&Standing| standing.worst <= MOST_RATIO;
        let least_bad = standings.iter().min_by(|a, b| a.worst.total_cmp(&b.worst));
        let leaders = |belongs: &dyn Fn(&Candidate) -> bool, most: usize| -> Vec<&Standing> {
            let able = standings.iter().filter(may_win);
            let of_class = able.filter(|standing| belongs(&standing.candidate));
            of_class.take(most).collect()
        };
        let mut chosen = leaders(&|_| true, OF_ALL);
        for class in self.classes {
            chosen.extend(leaders(&|candidate| class(cell, candidate), OF_CLASS));
        }
        if chosen.is_empty() {
            // That the default stays is to be as certain as any other choice.
            chosen.extend(least_bad);
        }
        let launches: BTreeMap<Candidate, u32> = known
            .standings()
            .into_iter()
            .map(|standing| (standing.candidate, standing.launches))
            .collect();
        let is_open = |candidate: &Candidate| {
            let done = launches.get(candidate).copied().unwrap_or(0);
            done < wanted_launches && !known.has_failed(candidate)
        };
        let open = chosen.into_iter().map(|standing| &standing.candidate);
        let mut wanted: BTreeSet<Candidate> = open
            .filter(|candidate| is_open(candidate))
            .cloned()
            .collect();
        if !wanted.is_empty() {
            wanted.insert(Candidate::Default);
        }
        wanted.into_iter().collect()
    }

    /// The candidates that were compared in all measured cells of a shape, the fastest on average first.
    fn standings_on_shape(&self, cell: &Cell, grid: &[Cell]) -> Vec<Standing> {
        let of_shape = grid
            .iter()
            .filter(|other| (other.collective, other.shape) == (cell.collective, cell.shape));
        let measured: Vec<BTreeMap<Candidate, f64>> = of_shape
            .filter(|other| self.known.is_compared(other))
            .map(|other| {
                let standings = self.known.standings(other).into_iter();
                standings
                    .map(|standing| (standing.candidate, standing.ratio))
                    .collect()
            })
            .collect();
        let Some(first) = measured.first() else {
            return Vec::new();
        };
        let mut standings: Vec<Standing> = first
            .keys()
            .filter(|candidate| **candidate != Candidate::Default)
            .filter_map(|candidate| {
                let ratios = measured.iter().map(|ratios| ratios.get(candidate).copied());
                let ratios: Vec<f64> = ratios.collect::<Option<_>>()?;
                let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
                Some(Standing {
                    candidate: candidate.clone(),
                    worst: ratios.iter().copied().fold(0.0, f64::max),
                    mean_log: logs / ratios.len() as f64,
                })
            })
            .collect();
        standings.sort_by(|a, b| a.mean_log.total_cmp(&b.mean_log));
        standings
    }
}
