//! A pipelined balanced binary tree towards the root.

use super::relayed;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::post_order::{root_children, steps_up};
use crate::tree::towards::binary;
use crate::{BracketedBy, Collective, Cost, Parameter};

/// Cost `2H - 2 + 2b` steps and as many combinations on a perfect tree of height H.
///
/// Another root than 0 has a third child below it, and takes a step more a block.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "binary_pipelined",
    summary: "pipeline up a balanced binary tree, ordered for every root",
    source: "pipelining lemma: Träff 2021",
    formula: "(2H-2 + 2b) (alpha + beta m/b + gamma m/b)",
    parameters: &[Parameter::Blocks],
    brackets_by: &[BracketedBy::Root],
    cost,
    scratch: |shape, rank| relayed::scratch(binary, shape, rank),
    program: |shape, rank| relayed::program(binary, shape, rank),
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let (up, turn) = (i64::from(steps_up(ranks)), i64::from(root_children(ranks)));
    Some(Cost::pipelined([up - turn, turn], [up - turn, turn]))
}
