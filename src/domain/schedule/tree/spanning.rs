//! The minimum spanning tree of a range of ranks, for any root.
//!
//! A range is split in the middle. The root of the range sends to the far end of the half that it is not in, which
//! becomes that half's root; both halves are split in the same way (Chan, Heimlich, Purkayastha, van de Geijn 2007).
//! Subtrees are ranges that never wrap around.

use crate::Rank;
use crate::tree::branch::{Branch, Subtree};

/// The place of `rank` in the tree over `0..ranks` with root `root`; O(log p).
pub(crate) fn mst(rank: Rank, root: Rank, ranks: u32) -> Branch {
    let (mut first, mut count, mut root) = (0, ranks, root);
    let mut branch = Branch {
        parent: None,
        own: Subtree { root, first, count },
        children: Vec::new(),
    };
    while count > 1 {
        let lower = count.div_ceil(2);
        let middle = first + lower;
        let halves = [(first, lower), (middle, count - lower)];
        let (other, near) = if root < middle { (1, 0) } else { (0, 1) };
        let far_end = [first, first + count - 1][other];
        let (other, near) = (halves[other], halves[near]);
        let head = Subtree {
            root: far_end,
            first: other.0,
            count: other.1,
        };
        if rank == root {
            branch.children.push(head);
        }
        let in_other = (other.0..other.0 + other.1).contains(&rank);
        if rank == far_end {
            branch.parent = Some(root);
            branch.own = head;
        }
        if in_other {
            root = far_end;
        }
        (first, count) = if in_other { other } else { near };
    }
    branch
}
