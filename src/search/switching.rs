//! Where the library's default goes from one algorithm to another while our choice stays the same.

use std::collections::BTreeSet;

use vocabulary::{Candidate, Cell};

use crate::cell::kin;
use crate::grid::{STAKE, Survey};

/// How much the default's time may differ, as a share, from that of the algorithm that it is.
const SAME: f64 = 0.05;

impl Survey<'_> {
    /// Among the neighbouring sizes of a row between which the default changes its algorithm and the choice that
    /// replaces it does not change, those at which that is worth least: between them the default may be the
    /// better one, and nothing measured says so.
    pub(crate) fn switch(&self, row: &[Cell]) -> Option<[Cell; 2]> {
        let pairs = row.windows(2).map(|pair| [pair[0], pair[1]]);
        let switches = pairs.filter(|[low, high]| {
            let choice = self.choice(low);
            choice.is_some()
                && choice != Some(Candidate::Default)
                && choice == self.choice(high)
                && self.default_switches(low, high)
        });
        switches.max_by(|a, b| self.weaker(a).total_cmp(&self.weaker(b)))
    }

    /// The fastest candidate's time divided by the default's, where it gains less.
    fn weaker(&self, pair: &[Cell; 2]) -> f64 {
        let first = pair.iter().filter_map(|cell| self.standings(cell).first());
        first.map(|named| named.standing.ratio).fold(0.0, f64::max)
    }

    /// Whether the default takes as long as other candidates at one size than at the other, or grows by more than
    /// the size or not at all, as no single algorithm does.
    fn default_switches(&self, low: &Cell, high: &Cell) -> bool {
        let [before, after] = [low, high].map(|cell| self.like_default(cell));
        if !before.is_empty() && !after.is_empty() && before.is_disjoint(&after) {
            return true;
        }
        let seconds = |cell| self.known.cell(cell)?.seconds(&Candidate::Default);
        let growth = seconds(high)
            .zip(seconds(low))
            .map(|(high, low)| high / low);
        let most = high.bytes as f64 / low.bytes.max(1) as f64;
        growth.is_some_and(|growth| growth * (1.0 + STAKE) < 1.0 || growth > most * (1.0 + STAKE))
    }

    /// What the default may be in a cell, without sizes of blocks: one of the library's own algorithms, or any
    /// candidate where none of these was measured.
    fn like_default(&self, cell: &Cell) -> BTreeSet<Candidate> {
        let others = || {
            let standings = self.standings(cell).iter();
            standings.filter(|named| named.candidate != Candidate::Default)
        };
        let is_native = |candidate: &Candidate| matches!(candidate, Candidate::Native { .. });
        let knows_natives = others().any(|named| is_native(&named.candidate));
        let like = others().filter(|named| {
            named.standing.ratio.ln().abs() <= SAME
                && (is_native(&named.candidate) || !knows_natives)
        });
        like.map(|named| kin(&named.candidate)).collect()
    }
}
