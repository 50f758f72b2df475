//! A Fibonacci tree towards the root, whole vectors.

use super::relayed;
use crate::registry::{Algorithm, one_block};
use crate::tree::ordered::{Fibonacci, node, steps_up};
use crate::{Collective, PipelineCost};

/// Cost `i (alpha + beta m + gamma m)` with the smallest `i` such that `fib(i+3) - 1 >= p`.
///
/// The first child's subtree ends one round before the second's, so no rank ever waits. 576 ranks
/// take 12 rounds; with the children exchanged it would be 23.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "fibonacci",
    summary: "pre-order numbered Fibonacci tree, cut at p, ordered for every root",
    source: "Winklehner and Friedl 2016",
    parameters: &[],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch: relayed::scratch,
    program: |shape, rank| relayed::program(node::<Fibonacci>, shape, rank),
};

fn cost(ranks: u32) -> Option<PipelineCost> {
    let rounds = steps_up::<Fibonacci>(ranks).into();
    Some(PipelineCost {
        c1: rounds,
        c2: 0,
        g1: rounds,
        g2: 0,
    })
}
