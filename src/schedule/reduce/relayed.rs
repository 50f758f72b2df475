//! Pipelined reductions along a tree, whatever the tree.

use std::ops::Range;

use crate::program::{Program, alone};
use crate::tree::relay::{Gathering, Node};
use crate::tree::towards::node;
use crate::{Buffer, Partition, Rank, Scratch, Shape};

const RECEIVED: Buffer = Buffer::Scratch(0);
const PARTIAL: Buffer = Buffer::Scratch(1);

/// The scratch buffers: a block that arrives, and the partial result of two.
pub(crate) fn scratch(shape: &Shape) -> Vec<Scratch> {
    let partition = Partition::Even(shape.blocks);
    [1, 2]
        .map(|slots| Scratch::Window { partition, slots })
        .into()
}

/// The program of a rank along a tree that is rooted at its last rank.
pub(crate) fn program(
    tree: fn(Rank, Range<Rank>) -> Node,
    shape: &Shape,
    rank: Rank,
) -> Box<dyn Program> {
    let Shape {
        ranks,
        root,
        blocks,
        in_place,
        ..
    } = *shape;
    if ranks == 1 {
        return alone(in_place);
    }
    Box::new(Gathering {
        rank,
        node: node(tree, rank, root, ranks),
        blocks,
        source: shape.source_of(rank),
        partial: if rank == root {
            Buffer::Output
        } else {
            PARTIAL
        },
        received: RECEIVED,
    })
}
