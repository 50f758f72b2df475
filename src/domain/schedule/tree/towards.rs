//! Trees towards any root that keep the order of ranks.
//!
//! A tree whose natural root is its last rank is mirrored on the ranks from the root upwards, and used as it is on
//! the ranks below the root; the root of the lower part becomes an additional child of the root. All subtrees are
//! ranges of ranks adjacent to their parents', for every root.

use std::ops::Range;

use crate::Rank;
use crate::tree::post_order;
use crate::tree::relay::Node;

/// The parent and the children, nearest first, of a rank in a tree over consecutive ranks that is
/// rooted at the last of them.
type RootedAtLast = fn(Rank, Range<Rank>) -> Node;

/// The node of `rank` in the tree over `0..ranks` towards `root`.
pub(crate) fn node_towards_root(tree: RootedAtLast, rank: Rank, root: Rank, ranks: u32) -> Node {
    if rank < root {
        let mut node = tree(rank, 0..root);
        node.parent = node.parent.or(Some(root));
        return node;
    }
    let mirror = |other: Rank| root + (ranks - 1 - other);
    let mut node = tree(mirror(rank), root..ranks);
    node.parent = node.parent.map(mirror);
    node.children = node.children.map(|child| child.map(mirror));
    if rank == root && root > 0 {
        node.adopt(root - 1);
    }
    node
}

/// A balanced binary tree.
pub(crate) fn binary(rank: Rank, ranks: Range<Rank>) -> Node {
    post_order::node_in_tree(rank, ranks).0
}

/// A chain of neighbours.
pub(crate) fn chain(rank: Rank, ranks: Range<Rank>) -> Node {
    let parent = (rank + 1 < ranks.end).then_some(rank + 1);
    let child = (rank > ranks.start).then(|| rank - 1);
    Node {
        parent,
        children: [child, None, None],
    }
}
