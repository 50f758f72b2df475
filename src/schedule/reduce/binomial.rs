//! The binomial tree towards the root, in rank order for every root.

use super::ascending::{self, Ascending, Senders};
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::branch::binomial;
use crate::{Collective, Cost, Rank, Shape};

/// Cost `L (alpha + beta m + gamma m)` for root 0.
///
/// Rank 0 is the tree's natural root. For another root `r` the tree stands on `r..p` and its
/// mirror image on `0..r`, rooted at `r - 1`, which sends to `r` at the end: at most one step more.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "binomial",
    summary: "binomial tree, whole vector, ordered for every root by a mirrored lower tree",
    source: "Winklehner and Friedl 2016",
    formula: "L (alpha + beta m + gamma m)",
    cost: |ranks| {
        let rounds = log2_ceil(ranks).into();
        Some(Cost::whole(rounds, rounds))
    },
    scratch: |shape, rank| ascending::scratch(&place(shape, rank)),
    program: |shape, rank| Box::new(place(shape, rank)),
    ..PLAIN
};

fn place(shape: &Shape, rank: Rank) -> Ascending {
    let Shape { ranks, root, .. } = *shape;
    // Mirroring the lower part is its own inverse.
    let mirrored = |node: u32| root - 1 - node;
    let (branch, outside): (_, &dyn Fn(u32) -> Rank) = match rank >= root {
        true => (binomial(rank - root, 0, ranks - root), &|node| root + node),
        false => (binomial(mirrored(rank), 0, root), &mirrored),
    };
    let mut senders: Vec<Rank> = branch
        .children
        .iter()
        .rev()
        .map(|child| outside(child.root))
        .collect();
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
