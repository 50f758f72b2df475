//! Sizes between which the library's default changes its algorithm while our choice stays the same.

use std::collections::BTreeSet;

use vocabulary::{Candidate, Cell};

use super::cell::without_block_size;
use super::grid::{STAKE, Survey};

/// The largest difference, as a logarithm, between the default's time and that of the algorithm that it uses.
const SAME: f64 = 0.05;

impl Survey<'_> {
    /// The neighbouring sizes of a row between which the default changes its algorithm while the choice that replaces
    /// it stays the same. If there are several such pairs, the one at which the choice gains least: between these sizes
    /// the default may be faster, which no measurement shows.
    pub(crate) fn find_default_switch(&self, row: &[Cell]) -> Option<[Cell; 2]> {
        let pairs = row.windows(2).map(|pair| [pair[0], pair[1]]);
        let switches = pairs.filter(|[low, high]| {
            let choice = self.table_choice(low);
            choice.is_some()
                && choice != Some(Candidate::Default)
                && choice == self.table_choice(high)
                && self.default_switches(low, high)
        });
        switches.max_by(|a, b| self.weakest_gain(a).total_cmp(&self.weakest_gain(b)))
    }

    /// The fastest candidate's time divided by the default's, at the size where it gains less.
    fn weakest_gain(&self, pair: &[Cell; 2]) -> f64 {
        let first = pair.iter().filter_map(|cell| self.standings(cell).first());
        first.map(|named| named.standing.ratio).fold(0.0, f64::max)
    }

    /// Whether the default changes its algorithm: it takes as long as different candidates at the two sizes, or its
    /// time grows by more than the size or shrinks, which no single algorithm does.
    fn default_switches(&self, low: &Cell, high: &Cell) -> bool {
        let [before, after] = [low, high].map(|cell| self.candidates_like_default(cell));
        if !before.is_empty() && !after.is_empty() && before.is_disjoint(&after) {
            return true;
        }
        let seconds = |cell| {
            self.guide
                .known
                .known_cell(cell)?
                .median_seconds(&Candidate::Default)
        };
        let growth = seconds(high)
            .zip(seconds(low))
            .map(|(high, low)| high / low);
        let most = high.bytes as f64 / low.bytes.max(1) as f64;
        growth.is_some_and(|growth| growth * (1.0 + STAKE) < 1.0 || growth > most * (1.0 + STAKE))
    }

    /// The candidates, without block sizes, that take as long as the default in a cell: the library's own algorithms,
    /// or all candidates if none of these was measured.
    fn candidates_like_default(&self, cell: &Cell) -> BTreeSet<Candidate> {
        let others = || {
            let standings = self.standings(cell).iter();
            standings.filter(|named| named.candidate != Candidate::Default)
        };
        let knows_natives = others().any(|named| named.candidate.is_native());
        let like = others().filter(|named| {
            named.standing.ratio.ln().abs() <= SAME
                && (named.candidate.is_native() || !knows_natives)
        });
        like.map(|named| without_block_size(&named.candidate))
            .collect()
    }
}
