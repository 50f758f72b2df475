//! A pipeline along a chain towards the root.

use super::relayed;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::towards::chain;
use crate::{BracketedBy, Collective, Cost, Parameter};

/// Cost `p - 2 + b` steps and as many combinations for root 0.
///
/// Another root is between two chains, one from either end.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "chain",
    summary: "pipeline along the chain of ranks towards the root, ordered for every root",
    source: "pipelining lemma: Träff 2021",
    formula: "(p-2 + b) (alpha + beta m/b + gamma m/b)",
    parameters: &[Parameter::Blocks],
    brackets_by: &[BracketedBy::Root],
    cost,
    scratch: |shape, rank| relayed::scratch(chain, shape, rank),
    program: |shape, rank| relayed::program(chain, shape, rank),
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let fill = i64::from(ranks) - 2;
    Some(Cost::pipelined([fill, 1], [fill, 1]))
}
