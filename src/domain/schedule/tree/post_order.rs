//! Post-order numbered binary trees over consecutive ranks, as balanced as possible.
//!
//! The root is the last rank. For any node `i` the first child is `i - 1`, the second child is the
//! last rank below the first child's subtree, so a subtree is a contiguous range of ranks and
//! `second child o first child o own` is in rank order (Träff 2021, section 1.1). The first child's
//! subtree is the larger one by at most a rank.

use std::ops::Range;

use crate::Rank;
use crate::tree::relay::Node;

/// The node of `rank` in the tree over `ranks`, found from the root in O(log n), and its depth: the edges to the root.
pub(crate) fn node_in_tree(rank: Rank, mut ranks: Range<Rank>) -> (Node, u32) {
    let (mut parent, mut depth) = (None, 0);
    loop {
        let root = ranks.end - 1;
        let (first, second) = subtree_sizes(ranks.end - ranks.start);
        let split = ranks.start + second;
        if rank == root {
            let first = (first > 0).then(|| root - 1);
            let second = (second > 0).then(|| split - 1);
            let children = [first, second, None];
            return (Node { parent, children }, depth);
        }
        parent = Some(root);
        depth += 1;
        ranks = if rank < split {
            ranks.start..split
        } else {
            split..root
        };
    }
}

/// Sizes of the first and second child's subtrees below a root of `size` nodes.
fn subtree_sizes(size: u32) -> (u32, u32) {
    let below = size - 1;
    (below.div_ceil(2), below / 2)
}

/// Number of children of the root of a tree with `size` nodes.
pub(crate) fn root_children(size: u32) -> u32 {
    (size - 1).min(2)
}

/// The number of steps until the first block of a reduction has arrived at the root, if a step is one message and
/// each node receives from one child at a time; also the number of combinations on that path.
pub(crate) fn steps_up(size: u32) -> u32 {
    match size {
        0 | 1 => 0,
        // The first subtree's block is received first, and the second subtree never ends later than the first.
        _ => steps_up(subtree_sizes(size).0) + root_children(size),
    }
}

/// The number of steps until the first block of a broadcast has arrived everywhere, if each node serves its first
/// child first.
pub(crate) fn steps_down(size: u32) -> u32 {
    steps_down_pair(size).0
}

/// [`steps_down`] of `size` and of `size + 1`, whose subtrees have only two sizes between them.
fn steps_down_pair(size: u32) -> (u32, u32) {
    match size {
        0 => (0, 0),
        1 => (0, 1),
        _ => {
            let half = (size - 1) / 2;
            let (small, large) = steps_down_pair(half);
            let both = |first: u32, second: u32| (first + 1).max(second + 2);
            if size.is_multiple_of(2) {
                let one_child = half == 0;
                let even = if one_child {
                    large + 1
                } else {
                    both(large, small)
                };
                (even, both(large, large))
            } else {
                (both(small, small), both(large, small))
            }
        }
    }
}
