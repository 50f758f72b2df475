//! Rounds of one cell: the candidates that are measured again.

use std::collections::{BTreeMap, BTreeSet};

use campaign::Family;
use vocabulary::{Candidate, Cell, Parameters};

use super::blocks;
use super::guide::Guide;
use super::known::{KnownCell, RelativeTime};

/// The candidates measured again beside the strongest rival, after one launch and after two: the largest distance from
/// the best, as a share, and the largest number. Measuring others costs more than it gains; chance may decide a tie.
const CLOSE: [(f64, usize); 2] = [(0.15, 2), (0.06, 1)];

/// The largest distance from the best, as a share, at which a family may still win with another block size.
const HOPE: f64 = 0.25;

/// Rounds beyond the campaign's launches in which block sizes may be searched.
const MORE_ROUNDS: u32 = 2;

/// The most launches of a cell, as a multiple of the campaign's launches.
pub(super) const MOST_ROUNDS: u32 = 3;

/// A candidate without its block or segment size.
pub(crate) fn without_block_size(candidate: &Candidate) -> Candidate {
    let mut kin = candidate.clone();
    if let Candidate::Ours { parameters, .. }
    | Candidate::Native { parameters, .. }
    | Candidate::Foreign { parameters, .. } = &mut kin
    {
        *parameters = Parameters {
            segment_bytes: None,
            ..parameters.without_blocks()
        };
    }
    kin
}

/// Chooses the candidates of a cell's next round.
pub(crate) struct CellRounds<'a> {
    pub(crate) guide: &'a Guide<'a>,
    pub(crate) cell: &'a Cell,
    pub(crate) known: &'a KnownCell,
    /// Whether the cell was measured without a neighbour that suggests the best block size.
    pub(crate) is_pioneer: bool,
}

impl CellRounds<'_> {
    /// The number of launches that the campaign asks for.
    fn wanted_launches(&self) -> u32 {
        self.guide.campaign.launches
    }

    /// The candidates to measure in the next launch, including the default; empty if the cell is done.
    pub(crate) fn next_candidates(&self) -> Vec<Candidate> {
        if self.known.launch_count() >= self.wanted_launches().saturating_mul(MOST_ROUNDS) {
            return Vec::new();
        }
        let standings = self.distinct_standings();
        let is_default = |standing: &&RelativeTime| standing.candidate == Candidate::Default;
        let (Some(default), Some(leader)) = (
            standings.iter().find(is_default),
            standings.iter().find(|standing| !is_default(standing)),
        ) else {
            return Vec::new();
        };
        let mut wanted = self.close_candidates(&standings);
        wanted.extend(self.block_size_probes(&standings));
        if wanted.is_empty() && default.launches >= self.wanted_launches() {
            return Vec::new();
        }
        // All other candidates are compared with the default and the leader.
        wanted.insert(Candidate::Default);
        wanted.insert(leader.candidate.clone());
        wanted.into_iter().collect()
    }

    /// The measured candidates, fastest first. Of candidates with the same schedule only the one with most launches is
    /// kept, or else the simplest.
    fn distinct_standings(&self) -> Vec<RelativeTime> {
        let standings = self.known.standings();
        let candidates: Vec<&Candidate> = standings.iter().map(|s| &s.candidate).collect();
        let simplest = self.cell.simplest_alike(&candidates);
        let is_best_known = |place: &usize| {
            let same = (0..standings.len()).filter(|other| simplest[*other] == simplest[*place]);
            let rank = |other: usize| (standings[other].launches, other == simplest[other]);
            same.max_by_key(|other| rank(*other)) == Some(*place)
        };
        let kept = (0..standings.len()).filter(is_best_known);
        kept.map(|place| standings[place].clone()).collect()
    }

    /// The strongest rival of each class until it has enough launches, and the candidates close behind the best.
    fn close_candidates(&self, standings: &[RelativeTime]) -> BTreeSet<Candidate> {
        let Some(best) = standings.first() else {
            return BTreeSet::new();
        };
        let rivals = || {
            standings
                .iter()
                .filter(|s| s.candidate != Candidate::Default)
        };
        let of_classes = self
            .guide
            .classes
            .iter()
            .filter_map(|class| rivals().find(|rival| class(self.cell, &rival.candidate)));
        let leaders = rivals().take(1).chain(of_classes);
        let unsure = leaders.filter(|leader| leader.launches < self.wanted_launches());
        let mut wanted: BTreeSet<Candidate> = unsure.map(|s| s.candidate.clone()).collect();
        for (launches, (behind, most)) in (1..).zip(CLOSE) {
            let near = rivals().skip(1).filter(|rival| {
                rival.launches == launches
                    && launches < self.wanted_launches()
                    && rival.ratio <= best.ratio * (1.0 + behind)
            });
            wanted.extend(near.take(most).map(|rival| rival.candidate.clone()));
        }
        wanted
    }

    /// Candidates with new block sizes, from the families that may win.
    fn block_size_probes(&self, standings: &[RelativeTime]) -> Vec<Candidate> {
        let is_late =
            self.known.launch_count() >= self.wanted_launches().saturating_add(MORE_ROUNDS);
        let searches_blocks = self.guide.campaign.parameters.predicted;
        let (Some(best), true) = (standings.first(), searches_blocks && !is_late) else {
            return Vec::new();
        };
        let mut families: Vec<Family> = Vec::new();
        let hopeful = standings
            .iter()
            .filter(|s| s.ratio <= best.ratio * (1.0 + HOPE));
        for family in hopeful.filter_map(|standing| Family::of_candidate(&standing.candidate)) {
            if family.is_cut() && !families.contains(&family) {
                families.push(family);
            }
        }
        let probes = families
            .iter()
            .flat_map(|family| self.probes_of_family(family, standings));
        let probes = self
            .guide
            .campaign
            .merge_equivalents(self.cell, probes.collect())
            .distinct;
        // Candidates without a valid time are not tried again either.
        let tried: Vec<&Candidate> = self.known.tried_candidates().collect();
        probes
            .into_iter()
            .filter(|candidate| self.index_of_alike(candidate, &tried).is_none())
            .collect()
    }

    /// The index in `of` of a candidate with the same schedule as `candidate`.
    fn index_of_alike(&self, candidate: &Candidate, of: &[&Candidate]) -> Option<usize> {
        let all: Vec<&Candidate> = of.iter().copied().chain([candidate]).collect();
        let simplest = self.cell.simplest_alike(&all);
        (0..of.len())
            .find(|place| of[*place] == candidate || simplest[*place] == simplest[of.len()])
    }

    /// The members of a family with the block sizes to try next.
    fn probes_of_family(&self, family: &Family, standings: &[RelativeTime]) -> Vec<Candidate> {
        let longest = self.cell.vector_bytes().max(1);
        let members = standings
            .iter()
            .filter(|standing| Family::of_candidate(&standing.candidate).as_ref() == Some(family));
        let mut known: BTreeMap<u64, f64> = members
            .map(|standing| (standing.candidate.block_bytes(self.cell), standing.ratio))
            .collect();
        loop {
            let sizes = self.next_block_sizes(family, longest, &known);
            let shared: Vec<(u64, f64)> = sizes
                .iter()
                .filter_map(|size| Some((*size, self.shared_ratio(family, *size, standings)?)))
                .collect();
            if shared.is_empty() {
                let proposed = sizes.iter();
                return proposed
                    .filter_map(|size| family.candidate_with_blocks(self.cell, *size))
                    .collect();
            }
            known.extend(shared);
        }
    }

    /// The relative time of a measured candidate with the same schedule as the family's member of this block size.
    fn shared_ratio(&self, family: &Family, size: u64, standings: &[RelativeTime]) -> Option<f64> {
        let candidate = family.candidate_with_blocks(self.cell, size)?;
        let measured: Vec<&Candidate> = standings.iter().map(|s| &s.candidate).collect();
        let same = self.index_of_alike(&candidate, &measured)?;
        Some(standings[same].ratio)
    }

    /// The block sizes to try next that were not measured.
    fn next_block_sizes(
        &self,
        family: &Family,
        longest: u64,
        known: &BTreeMap<u64, f64>,
    ) -> Vec<u64> {
        let best = known.iter().min_by(|a, b| a.1.total_cmp(b.1));
        let Some(start) = best.map(|(size, _)| *size) else {
            return Vec::new();
        };
        let limit = self.guide.expectation.eager_limit(self.cell);
        let sizes = blocks::protocol_segments(longest, limit)
            .into_iter()
            .filter(|segment| self.is_pioneer || segment.contains(&start))
            .flat_map(|segment| {
                let sizes = blocks::next_sizes(&segment, known, start, self.guide.target);
                let is_begun = segment.iter().any(|size| known.contains_key(size));
                if is_begun || self.may_win(family, &sizes, start) {
                    sizes
                } else {
                    Vec::new()
                }
            });
        sizes.filter(|size| !known.contains_key(size)).collect()
    }

    /// Whether one of the first sizes of another protocol segment is predicted to come near the best known size.
    fn may_win(&self, family: &Family, sizes: &[u64], start: u64) -> bool {
        let expected = |size: u64| {
            let candidate = family.candidate_with_blocks(self.cell, size)?;
            self.guide.expectation.seconds(self.cell, &candidate)
        };
        let Some(known) = expected(start) else {
            return true;
        };
        let mut sizes = sizes.iter();
        sizes.any(|&size| expected(size).is_none_or(|there| there <= known * (1.0 + HOPE)))
    }
}
