//! A Fibonacci tree towards the root, whole vectors.

use super::relayed;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::ordered::{Fibonacci, node_in_tree, steps_up};
use crate::{BracketedBy, Collective, Cost};

/// Cost `i (alpha + beta m + gamma m)` with the smallest `i` such that `fib(i+3) - 1 >= p`.
///
/// The first child's subtree ends one round before the second's, so no rank ever waits. 576 ranks
/// take 12 rounds; with the children exchanged it would be 23.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "fibonacci",
    summary: "pre-order numbered Fibonacci tree, cut at p, ordered for every root",
    source: "Winklehner and Friedl 2016 for root 0; other roots: ours",
    formula: "i (alpha + beta m + gamma m), p < fib(i+3)",
    brackets_by: &[BracketedBy::Root],
    cost: |ranks| Some(Cost::combining(steps_up::<Fibonacci>(ranks))),
    scratch: |shape, rank| relayed::scratch(node_in_tree::<Fibonacci>, shape, rank),
    program: |shape, rank| relayed::program(node_in_tree::<Fibonacci>, shape, rank),
    ..PLAIN
};
