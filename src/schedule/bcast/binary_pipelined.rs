//! A pipelined balanced binary tree.

use crate::program::Program;
use crate::registry::{Algorithm, no_scratch, one_block};
use crate::tree::post_order::{root_children, steps_down};
use crate::tree::relay::Spreading;
use crate::tree::towards::{binary, node};
use crate::{Collective, Parameter, PipelineCost, Rank, Shape};

/// Cost `2H - 2 + 2b` steps on a perfect tree of height H.
///
/// Another root than 0 has a third child below it, and takes a step more a block.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "binary_pipelined",
    summary: "pipeline down a balanced binary tree",
    source: "pipelining lemma: Träff 2021",
    parameters: &[Parameter::Blocks],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch: no_scratch,
    program,
};

fn cost(ranks: u32) -> Option<PipelineCost> {
    let c2 = i64::from(root_children(ranks));
    Some(PipelineCost {
        c1: i64::from(steps_down(ranks)) - c2,
        c2,
        g1: 0,
        g2: 0,
    })
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape {
        ranks,
        root,
        blocks,
        ..
    } = *shape;
    Box::new(Spreading {
        node: node(binary, rank, root, ranks),
        blocks,
    })
}
