//! A pipelined balanced binary tree.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::post_order::{root_children, steps_down};
use crate::tree::relay::Spreading;
use crate::tree::towards::{binary, node_towards_root};
use crate::{Collective, Cost, Parameter, Rank, Shape};

/// Cost `2H - 2 + 2b` steps on a perfect tree of height H.
///
/// Another root than 0 has a third child below it, and takes a step more a block.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "binary_pipelined",
    summary: "pipeline down a balanced binary tree",
    source: "pipelining lemma: Träff 2021",
    formula: "(2H-2 + 2b) (alpha + beta m/b)",
    parameters: &[Parameter::Blocks],
    cost,
    program,
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let c2 = i64::from(root_children(ranks));
    Some(Cost::pipelined(
        [i64::from(steps_down(ranks)) - c2, c2],
        [0, 0],
    ))
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let node = node_towards_root(binary, rank, shape.root, shape.ranks);
    Box::new(Spreading::vector(node, shape.blocks))
}
