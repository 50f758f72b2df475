//! Recursive doubling: partners at distances 1, 2, 4, ... exchange whole vectors.

use super::recursive_multiplying;
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost};

/// Cost `L (alpha + beta m + gamma m)` if `p = 2^L`; otherwise two steps and one combination more
/// than for the next lower power of two `P`.
///
/// Then the first `2 (p - P)` ranks fold: odd ones send their vector to the left neighbour before, and receive the
/// result from it after. Neighbours are combined first and renumbering keeps the order of ranks, so every combination
/// joins adjacent ranges.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "recursive_doubling",
    summary: "whole vectors exchanged at distances 1, 2, 4, ...; folded to a power of two first",
    source: "Thakur, Rabenseifner, Gropp 2005",
    formula: "L (alpha + beta m + gamma m) if p = 2^L, else two messages and a combination more than for 2^(L-1)",
    cost,
    scratch: |shape, rank| recursive_multiplying::scratch(2, shape, rank),
    program: |shape, rank| recursive_multiplying::program(2, shape, rank),
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let rounds = u64::from(ranks.ilog2());
    let folds = u64::from(!ranks.is_power_of_two());
    Some(Cost::whole(rounds + 2 * folds, rounds + folds))
}
