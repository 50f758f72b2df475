//! Trees of a given shape over consecutive ranks, numbered so that subtrees are contiguous.
//!
//! In the literature the trees are numbered in pre-order from their root, rank 0. Here they are mirrored and rooted
//! at the last rank, as [`super::towards`] requires: the first child is the previous rank, the second child the rank
//! before the first child's subtree. A tree with more nodes than ranks is truncated.

use std::ops::Range;

use crate::Rank;
use crate::tree::relay::Node;

/// A family of binary trees, each made of two smaller ones below a root.
pub(crate) trait Family {
    /// The number of nodes in the tree of an order; order 0 has one, and each order more than the previous one.
    fn nodes(order: u32) -> u64;

    /// The orders of the first and the second child's trees, if these children exist.
    fn parts(order: u32) -> [Option<u32>; 2];
}

/// Perfect binary trees: `2^(i+1) - 1` nodes.
pub(crate) struct Perfect;

impl Family for Perfect {
    fn nodes(order: u32) -> u64 {
        (2 << order) - 1
    }

    fn parts(order: u32) -> [Option<u32>; 2] {
        [order.checked_sub(1); 2]
    }
}

/// Fibonacci trees: order `i` has a first child of order `i - 2` and a second of order `i - 1`, so
/// that the first child's subtree ends a round earlier; `fib(i + 3) - 1` nodes.
pub(crate) struct Fibonacci;

impl Family for Fibonacci {
    fn nodes(order: u32) -> u64 {
        let (mut nodes, mut before) = (1, 0);
        for _ in 0..order {
            (nodes, before) = (nodes + before + 1, nodes);
        }
        nodes
    }

    fn parts(order: u32) -> [Option<u32>; 2] {
        [order.checked_sub(2), order.checked_sub(1)]
    }
}

/// The smallest order that has at least `size` nodes.
fn smallest_order<F: Family>(size: u64) -> u32 {
    (0..).find(|order| F::nodes(*order) >= size).unwrap_or(0)
}

/// The number of nodes in the first child's tree, of the `size - 1` nodes below the root of an order.
fn first_size<F: Family>(order: u32, size: u32) -> u32 {
    let first = F::parts(order)[0].map_or(0, F::nodes);
    u32::try_from(first).unwrap_or(u32::MAX).min(size - 1)
}

/// The node of `rank` in the tree over `ranks`, found from the root.
pub(crate) fn node_in_tree<F: Family>(rank: Rank, mut ranks: Range<Rank>) -> Node {
    let mut order = smallest_order::<F>(u64::from(ranks.end - ranks.start));
    let mut parent = None;
    loop {
        let root = ranks.end - 1;
        let split = root - first_size::<F>(order, ranks.end - ranks.start);
        if rank == root {
            let mut node = Node {
                parent,
                ..Node::default()
            };
            if split < root {
                node.adopt(root - 1);
            }
            if ranks.start < split {
                node.adopt(split - 1);
            }
            return node;
        }
        parent = Some(root);
        let [first, second] = F::parts(order);
        (ranks, order) = if rank >= split {
            (split..root, first.unwrap_or(0))
        } else {
            (ranks.start..split, second.unwrap_or(0))
        };
    }
}

/// The number of steps until the first block of a reduction has arrived at the root of the tree over `size` nodes, if
/// each node receives from one child at a time; also the number of combinations on that path.
pub(crate) fn steps_up<F: Family>(size: u32) -> u32 {
    steps_up_of::<F>(smallest_order::<F>(size.into()), size)
}

fn steps_up_of<F: Family>(order: u32, size: u32) -> u32 {
    if size <= 1 {
        return 0;
    }
    let first = first_size::<F>(order, size);
    let second = size - 1 - first;
    let parts = F::parts(order);
    let mut ready = 0;
    for (part, part_size) in parts.into_iter().zip([first, second]) {
        if part_size > 0 {
            ready = ready.max(steps_up_of::<F>(part.unwrap_or(0), part_size)) + 1;
        }
    }
    ready
}
