//! A butterfly between Bine's partners.

use super::butterfly;
use super::folded::{self, Steps};
use crate::BracketedBy;
use crate::registry::Algorithm;
use crate::tree::pairing::Pairing;

/// The cost of `butterfly`, from which it differs in the partners: their distances are 1, 1, 3, 5, 11, ...
/// instead of 1, 2, 4, 8, 16, ..., so fewer bytes leave a node or a group of nodes. Not in order.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    id: "bine",
    summary: "halves of what is left are exchanged between Bine partners, neighbours first; parts change places in the end",
    source: "De Sensi et al. 2025, arXiv 2508.17311; Swing: De Sensi et al. 2024",
    ordered: false,
    ordered_at_ends: false,
    brackets_by: &[BracketedBy::Element],
    program: |shape, rank| folded::program(STEPS, shape, rank),
    ..butterfly::ALGORITHM
};

const STEPS: Steps = Steps {
    pairing: Pairing::Bine,
    ..butterfly::STEPS
};
