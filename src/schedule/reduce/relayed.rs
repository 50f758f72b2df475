//! Pipelined reductions along any tree.

use std::ops::Range;

use crate::program::Program;
use crate::tree::relay::{Arrivals, Gathering, Node};
use crate::tree::towards::node;
use crate::{Buffer, Partition, Rank, Room, Shape};

const PARTIAL: Buffer = Buffer::Scratch(0);

/// A tree over consecutive ranks that is rooted at the last of them.
type Tree = fn(Rank, Range<Rank>) -> Node;

/// The scratch buffers: for inner ranks the partial result of two blocks, then arriving blocks.
pub(crate) fn scratch(tree: Tree, shape: &Shape, rank: Rank) -> Vec<Room> {
    let Shape { ranks, root, .. } = *shape;
    let partition = Partition::Even(shape.blocks);
    let node = node(tree, rank, root, ranks);
    let receives = node.child_count() * u64::from(shape.blocks);
    let is_inner = receives > 0 && node.parent.is_some();
    let partial = is_inner.then(|| Room::window(partition, shape.blocks.min(2)));
    let arrivals = Arrivals::rooms(shape.blocks, receives);
    partial.into_iter().chain(arrivals).collect()
}

/// The program of a rank along a tree that is rooted at its last rank.
pub(crate) fn program(tree: Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let (partial, first) = match rank == shape.root {
        true => (Buffer::Output, 0),
        false => (PARTIAL, 1),
    };
    Box::new(Gathering {
        rank,
        node: node(tree, rank, shape.root, shape.ranks),
        blocks: shape.blocks,
        partial,
        arrivals: Arrivals { first },
    })
}
