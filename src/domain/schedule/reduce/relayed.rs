//! Pipelined reductions along any tree.

use std::ops::Range;

use crate::program::Program;
use crate::tree::relay::{Arrivals, Gathering, Node, first_joins_partial};
use crate::tree::towards::node_towards_root;
use crate::{Buffer, Partition, Rank, Room, Shape};

/// A tree over consecutive ranks that is rooted at the last of them.
type Tree = fn(Rank, Range<Rank>) -> Node;

/// The scratch buffers: for inner ranks the partial result of two blocks, then arriving blocks.
pub(crate) fn scratch(tree: Tree, shape: &Shape, rank: Rank) -> Vec<Room> {
    let Shape { ranks, root, .. } = *shape;
    let partition = Partition::Even(shape.blocks);
    let node = node_towards_root(tree, rank, root, ranks);
    let is_inner = node.child_count() > 0 && node.parent.is_some();
    let results = is_inner.then(|| Room::window(partition, shape.blocks.min(2)));
    let arrivals = Gathering::arrival_rooms(&node, partial(rank, shape).0, shape);
    results.into_iter().chain(arrivals).collect()
}

/// The buffer of partial results, and the first scratch buffer of arriving blocks.
fn partial(rank: Rank, shape: &Shape) -> (Buffer, u8) {
    if rank == shape.root {
        (Buffer::Output, 0)
    } else {
        (Buffer::Scratch(0), 1)
    }
}

/// The program of a rank along a tree that is rooted at its last rank.
pub(crate) fn program(tree: Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let (partial, first) = partial(rank, shape);
    Box::new(Gathering {
        rank,
        node: node_towards_root(tree, rank, shape.root, shape.ranks),
        blocks: shape.blocks,
        partial,
        first_joins_partial: first_joins_partial(partial, shape),
        arrivals: Arrivals { first },
    })
}
