//! A pipelined Fibonacci tree towards the root.

use super::relayed;
use crate::registry::{Algorithm, one_block};
use crate::tree::ordered::{Fibonacci, node, steps_up};
use crate::{Collective, Parameter, PipelineCost};

/// Cost `i - 2 + 2b` steps and as many combinations on the tree of order `i >= 2`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "fibonacci_pipelined",
    summary: "pipeline up a Fibonacci tree, ordered for every root",
    source: "Winklehner and Friedl 2016; pipelining lemma: Träff 2021",
    parameters: &[Parameter::Blocks],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch: relayed::scratch,
    program: |shape, rank| relayed::program(node::<Fibonacci>, shape, rank),
};

fn cost(ranks: u32) -> Option<PipelineCost> {
    let (up, turn) = (
        i64::from(steps_up::<Fibonacci>(ranks)),
        i64::from(ranks - 1).min(2),
    );
    Some(PipelineCost {
        c1: up - turn,
        c2: turn,
        g1: up - turn,
        g2: turn,
    })
}
