//! Candidates that were not measured in a cell because another one is the same schedule there.

use std::collections::{BTreeMap, BTreeSet};

use vocabulary::{Candidate, Cell, Subject};

use crate::predictor::{CellKind, cell_kind};
use results::Summary;

/// The summaries, with one more in each cell for every candidate of ours that was measured in another cell and is the
/// same schedule here as a measured candidate: it gets that candidate's times.
pub(crate) fn add_merged_candidates(summaries: &[Summary]) -> Vec<Summary> {
    let mut kinds: BTreeMap<CellKind, BTreeSet<&Candidate>> = BTreeMap::new();
    let mut cells: BTreeMap<Cell, BTreeMap<&Candidate, &Summary>> = BTreeMap::new();
    for summary in summaries {
        let Subject::Cell(cell) = summary.subject else {
            continue;
        };
        cells
            .entry(cell)
            .or_default()
            .insert(&summary.candidate, summary);
        if summary.candidate.is_ours() {
            let candidates = kinds.entry(cell_kind(&cell)).or_default();
            candidates.insert(&summary.candidate);
        }
    }
    let mut all = summaries.to_vec();
    for (cell, measured) in &cells {
        let of_kind = kinds.get(&cell_kind(cell)).into_iter().flatten();
        let candidates: Vec<&Candidate> = of_kind.copied().collect();
        let simplest = cell.simplest_alike(&candidates);
        let named = || candidates.iter().zip(&simplest);
        let mut known: BTreeMap<usize, &Summary> = BTreeMap::new();
        for (candidate, place) in named() {
            if let Some(summary) = measured.get(*candidate) {
                known.entry(*place).or_insert(summary);
            }
        }
        let others = named().filter(|(candidate, _)| !measured.contains_key(**candidate));
        all.extend(others.filter_map(|(candidate, place)| {
            Some(Summary {
                candidate: (*candidate).clone(),
                ..(*known.get(place)?).clone()
            })
        }));
    }
    all
}
