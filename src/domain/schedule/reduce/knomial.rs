//! The tree of radix k towards the root, in rank order for every root.

use super::ascending::{self, Ascending, Senders};
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::knomial;
use crate::{BracketedBy, Collective, Parameter, Rank, Shape};

/// `ceil(log_k p)` levels of up to `k - 1` messages and combinations one after the other. With radix 2 it is
/// the binomial tree; with a larger radix a vector passes fewer ranks.
///
/// Rank 0 is the tree's natural root. For another root `r` the tree covers `r..p` and its mirror image on `0..r`,
/// rooted at `r - 1`, which sends to `r` at the end.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "knomial",
    summary: "tree of radix k, whole vector, ordered for every root by a mirrored lower tree",
    source: "generalised binomial tree, as in MPICH; its mirror image for other roots: ours",
    formula: "up to (k-1) ceil(log_k p) (alpha + beta m + gamma m)",
    parameters: &[Parameter::Radix],
    brackets_by: &[BracketedBy::Root],
    scratch: |shape, rank| ascending::scratch(&place(shape.radix, shape, rank)),
    program: |shape, rank| Box::new(place(shape.radix, shape, rank)),
    ..PLAIN
};

/// The place of a rank in the tree of a radix.
pub(super) fn place(radix: u32, shape: &Shape, rank: Rank) -> Ascending {
    let Shape { ranks, root, .. } = *shape;
    let tree = knomial(radix);
    // Mirroring the lower part is its own inverse.
    let mirrored = |node: u32| root - 1 - node;
    let (branch, outside): (_, &dyn Fn(u32) -> Rank) = if rank >= root {
        (tree(rank - root, 0, ranks - root), &|node| root + node)
    } else {
        (tree(mirrored(rank), 0, root), &mirrored)
    };
    // The nearest child comes first: its subtree is next to the ranks combined so far.
    let mut nodes: Vec<u32> = branch.children.iter().map(|child| child.root).collect();
    nodes.sort_unstable();
    let mut senders: Vec<Rank> = nodes.into_iter().map(outside).collect();
    if rank == root && root > 0 {
        senders.push(root - 1);
    }
    Ascending {
        rank,
        in_place: shape.in_place,
        senders: Senders::Children(senders),
        receiver: branch
            .parent
            .map(outside)
            .or((rank != root).then_some(root)),
    }
}
