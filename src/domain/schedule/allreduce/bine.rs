//! Rabenseifner's algorithm with Bine's partners.

use super::rabenseifner;
use crate::BracketedBy;
use crate::reduce::halving::{self, Folding, Target};
use crate::registry::Algorithm;
use crate::tree::pairing::Pairing;

/// The cost of `rabenseifner`, from which it differs in the partners: their distances are 1, 1, 3, 5, 11, ...
/// instead of 1, 2, 4, 8, 16, ..., so fewer bytes leave a node or a group of nodes. Not in order.
///
/// The blocks end up on the ranks in the order in which paths along partners are numbered, and are gathered
/// from there, so that they need not change places.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    id: "bine",
    summary: "vector halving reduce-scatter, then vector doubling allgather, between Bine partners; folded in balance",
    source: "De Sensi et al. 2025, arXiv 2508.17311; Swing: De Sensi et al. 2024; balanced fold: Kurnosov 2017",
    ordered: false,
    ordered_at_ends: false,
    brackets_by: &[BracketedBy::Element],
    scratch: |_, rank| halving::scratch(EVERYWHERE, rank),
    program: |shape, rank| halving::program(Folding::Balanced, EVERYWHERE, shape, rank),
    ..rabenseifner::ALGORITHM
};

const EVERYWHERE: Target = Target::Everywhere(Pairing::Bine);
