//! A pipeline along a chain towards the root.

use super::relayed;
use crate::registry::{Algorithm, one_block};
use crate::tree::towards::chain;
use crate::{Collective, Parameter, PipelineCost};

/// Cost `p - 2 + b` steps and as many combinations for root 0.
///
/// Another root stands between two chains, one from either end.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "chain",
    summary: "pipeline along the chain of ranks towards the root, ordered for every root",
    source: "pipelining lemma: Träff 2021",
    parameters: &[Parameter::Blocks],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch: relayed::scratch,
    program: |shape, rank| relayed::program(chain, shape, rank),
};

fn cost(ranks: u32) -> Option<PipelineCost> {
    let fill = i64::from(ranks) - 2;
    Some(PipelineCost {
        c1: fill,
        c2: 1,
        g1: fill,
        g2: 1,
    })
}
