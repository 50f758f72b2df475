//! The Bine tree towards the root, whole vectors.

use super::ascending::{self, Ascending, Senders};
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::{BracketedBy, Collective, Cost, Rank, Shape, bcast};

/// Cost `L (alpha + beta m + gamma m)` with `L = ceil(log2 p)`: the broadcast of the same name run backwards, nearest
/// partners first. The combined ranks are not consecutive, so it is not in order.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "bine",
    summary: "Bine tree, whole vector, nearest partner first; its distances are two thirds of the binomial tree's",
    source: "De Sensi et al. 2025, arXiv 2508.17311",
    formula: "L (alpha + beta m + gamma m)",
    ordered: false,
    ordered_at_ends: false,
    brackets_by: &[BracketedBy::Root],
    cost: |ranks| Some(Cost::combining(log2_ceil(ranks))),
    scratch: |shape, rank| ascending::scratch(&place(shape, rank)),
    program: |shape, rank| Box::new(place(shape, rank)),
    ..PLAIN
};

fn place(shape: &Shape, rank: Rank) -> Ascending {
    let mut place = bcast::bine::place(shape, rank);
    place.children.reverse();
    Ascending {
        rank,
        in_place: shape.in_place,
        senders: Senders::Children(place.children),
        receiver: place.parent,
    }
}
