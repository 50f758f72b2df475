//! A pipelined reduction to the root of one binary tree, then a pipelined broadcast down it.

use crate::program::{Program, Sequence};
use crate::registry::{Algorithm, PLAIN};
use crate::tree::post_order::{root_children, steps_down, steps_up};
use crate::tree::relay::{Arrivals, Gathering, Spreading, first_joins_partial};
use crate::tree::towards::binary;
use crate::{Buffer, Collective, Cost, Parameter, Rank, Room, Shape};

/// Cost `4H - 4 + 4b` steps and `2H - 2 + 2b` combinations on a perfect tree of height H: the
/// "User-Allreduce1" of Träff 2021. The broadcast of the first block starts when the root has
/// reduced the last one.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "pipelined_tree",
    summary: "pipelined reduce, then pipelined broadcast, over one post-order binary tree",
    source: "Träff 2021",
    formula: "(4H-4 + 4b) (alpha + beta m/b) + (2H-2 + 2b) gamma m/b",
    parameters: &[Parameter::Blocks],
    cost,
    scratch,
    program,
    ..PLAIN
};

/// Partial results are combined in the memory of the result.
const PARTIAL: Buffer = Buffer::Output;

fn cost(ranks: u32) -> Option<Cost> {
    let children = i64::from(root_children(ranks));
    let (up, down) = (i64::from(steps_up(ranks)), i64::from(steps_down(ranks)));
    let (c2, g2) = (2 * children, children);
    Some(Cost::pipelined([up + down - c2, c2], [up - g2, g2]))
}

fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let node = binary(rank, 0..shape.ranks);
    Gathering::arrival_rooms(&node, PARTIAL, shape).collect()
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape { ranks, blocks, .. } = *shape;
    let node = binary(rank, 0..ranks);
    let up = Gathering {
        rank,
        node,
        blocks,
        partial: PARTIAL,
        first_joins_partial: first_joins_partial(PARTIAL, shape),
        arrivals: Arrivals { first: 0 },
    };
    Box::new(Sequence(
        Box::new(up),
        Box::new(Spreading::vector(node, blocks)),
    ))
}
