//! Pipelined reductions along any tree.

use std::ops::Range;

use crate::program::Program;
use crate::tree::relay::{Arrivals, Gathering, Node, first_arrives_in_place};
use crate::tree::towards::node;
use crate::{Buffer, Partition, Rank, Room, Shape};

/// A tree over consecutive ranks that is rooted at the last of them.
type Tree = fn(Rank, Range<Rank>) -> Node;

/// The scratch buffers: for inner ranks the partial result of two blocks, then arriving blocks.
pub(crate) fn scratch(tree: Tree, shape: &Shape, rank: Rank) -> Vec<Room> {
    let Shape { ranks, root, .. } = *shape;
    let partition = Partition::Even(shape.blocks);
    let node = node(tree, rank, root, ranks);
    let children = node.child_count();
    let in_place = u64::from(first_arrives_in_place(partial(rank, shape).0, shape));
    let is_inner = children > 0 && node.parent.is_some();
    let partial = is_inner.then(|| Room::window(partition, shape.blocks.min(2)));
    let receives = children.saturating_sub(in_place) * u64::from(shape.blocks);
    let arrivals = Arrivals::rooms(shape.blocks, receives);
    partial.into_iter().chain(arrivals).collect()
}

/// The buffer of partial results, and the first scratch buffer of arriving blocks.
fn partial(rank: Rank, shape: &Shape) -> (Buffer, u8) {
    match rank == shape.root {
        true => (Buffer::Output, 0),
        false => (Buffer::Scratch(0), 1),
    }
}

/// The program of a rank along a tree that is rooted at its last rank.
pub(crate) fn program(tree: Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let (partial, first) = partial(rank, shape);
    Box::new(Gathering {
        rank,
        node: node(tree, rank, shape.root, shape.ranks),
        blocks: shape.blocks,
        partial,
        first_in_place: first_arrives_in_place(partial, shape),
        arrivals: Arrivals { first },
    })
}
