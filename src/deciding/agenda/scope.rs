//! The scope of a campaign: everything that it may measure.

use std::collections::BTreeMap;

use campaign::Family;
use vocabulary::{Candidate, Cell, Experiment, Subject};

/// The experiments, cells and candidates of a campaign.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CampaignScope {
    /// The experiments on the machine.
    pub experiments: Vec<Experiment>,
    /// All cells with all candidates, as an exhaustive campaign measures them; block sizes are predicted once the
    /// experiments are made.
    pub cells: Vec<(Cell, Vec<Candidate>)>,
    /// Candidates that are not measured because a simpler candidate of their cell has the same schedule.
    pub merged: Merged,
    /// Whether a search chooses among the candidates, and may add sizes and block sizes.
    pub is_guided: bool,
}

/// The candidates with the same schedule as a simpler one, each with that one, by cell.
pub type Merged = BTreeMap<Cell, Vec<(Candidate, Candidate)>>;

impl CampaignScope {
    /// All cells of the campaign.
    pub fn grid(&self) -> Vec<Cell> {
        self.cells.iter().map(|(cell, _)| *cell).collect()
    }

    /// Whether a candidate may be confirmed in a cell: the default always may; others may if they, or candidates that
    /// differ only by block size, are in the scope or merged, at any size and shape.
    pub fn may_confirm(&self, cell: &Cell, candidate: &Candidate) -> bool {
        let is_alike = |known: &Cell| {
            Cell {
                bytes: cell.bytes,
                shape: cell.shape,
                ..*known
            } == *cell
        };
        let alike = self.cells.iter().filter(|(known, _)| is_alike(known));
        let merged = self.merged.iter().filter(|(known, _)| is_alike(known));
        let merged = merged
            .flat_map(|(_, pairs)| pairs.iter().map(|(merged_candidate, _)| merged_candidate));
        *candidate == Candidate::Default
            || alike
                .flat_map(|(_, candidates)| candidates)
                .chain(merged)
                .any(|known| is_same_family(known, candidate))
    }

    /// Whether a subject with a candidate is in the scope or, in a guided campaign, may be added to it.
    pub fn asks_for(&self, subject: &Subject, candidate: &Candidate) -> bool {
        let known = match subject {
            Subject::Experiment(experiment) => return self.experiments.contains(experiment),
            Subject::Cell(cell) => self.cells.iter().find(|(known, _)| {
                // A search also measures between the sizes of the campaign.
                let bytes = if self.is_guided {
                    cell.bytes
                } else {
                    known.bytes
                };
                Cell { bytes, ..*known } == *cell
            }),
        };
        let Some((cell, candidates)) = known else {
            return false;
        };
        // An older store may have times of merged candidates.
        let merged = self.merged.get(cell).into_iter().flatten();
        let mut all = candidates
            .iter()
            .chain(merged.map(|(merged_candidate, _)| merged_candidate));
        if self.is_guided {
            // A search chooses block sizes of its own.
            all.any(|c| is_same_family(c, candidate))
        } else {
            all.any(|c| c == candidate)
        }
    }

    /// The number of candidates over all cells.
    pub fn candidate_count(&self) -> usize {
        self.cells
            .iter()
            .map(|(_, candidates)| candidates.len())
            .sum()
    }

    /// The number of merged candidates over all cells.
    pub fn merged_count(&self) -> usize {
        self.merged.values().map(Vec::len).sum()
    }
}

/// Whether two candidates differ only by the size of their blocks.
fn is_same_family(a: &Candidate, b: &Candidate) -> bool {
    a == b || Family::of_candidate(a).is_some_and(|family| Family::of_candidate(b) == Some(family))
}
