//! Pipelined reductions along a tree, whatever the tree.

use std::ops::Range;

use crate::program::Program;
use crate::tree::relay::{Gathering, Node};
use crate::tree::towards::node;
use crate::{Buffer, Partition, Rank, Room, Shape};

const RECEIVED: Buffer = Buffer::Scratch(0);
const PARTIAL: Buffer = Buffer::Scratch(1);

/// A tree over consecutive ranks that is rooted at the last of them.
type Tree = fn(Rank, Range<Rank>) -> Node;

/// The scratch buffers: a block that arrives, and between leaves and root the partial result of two.
pub(crate) fn scratch(tree: Tree, shape: &Shape, rank: Rank) -> Vec<Room> {
    let Shape { ranks, root, .. } = *shape;
    let partition = Partition::Even(shape.blocks);
    let buffers: &[u32] = match node(tree, rank, root, ranks) {
        Node { children, .. } if children[0].is_none() => &[][..],
        Node { parent: None, .. } => &[1],
        _ => &[1, 2],
    };
    let windows = buffers
        .iter()
        .map(|slots| Room::window(partition, shape.blocks.min(*slots)));
    windows.collect()
}

/// The program of a rank along a tree that is rooted at its last rank.
pub(crate) fn program(tree: Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Gathering {
        rank,
        node: node(tree, rank, shape.root, shape.ranks),
        blocks: shape.blocks,
        partial: match rank == shape.root {
            true => Buffer::Output,
            false => PARTIAL,
        },
        received: RECEIVED,
    })
}
