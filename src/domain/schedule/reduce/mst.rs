//! The minimum spanning tree of the broadcast, run backwards.

use super::ascending::{self, Ascending, Senders};
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::spanning::mst;
use crate::{Collective, Cost, Rank, Shape};

/// Cost `L (alpha + beta m + gamma m)` with `L = ceil(log2 p)`; ordered for every root, since each
/// combination joins the two halves of a range.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "mst",
    summary: "the minimum spanning tree broadcast run backwards",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    formula: "L (alpha + beta m + gamma m)",
    cost: |ranks| Some(Cost::combining(log2_ceil(ranks))),
    scratch: |shape, rank| ascending::scratch(&place(shape, rank)),
    program: |shape, rank| Box::new(place(shape, rank)),
    ..PLAIN
};

fn place(shape: &Shape, rank: Rank) -> Ascending {
    let branch = mst(rank, shape.root, shape.ranks);
    let children = branch.children.iter().rev().map(|child| child.root);
    Ascending {
        rank,
        in_place: shape.in_place,
        senders: Senders::Children(children.collect()),
        receiver: branch.parent,
    }
}
