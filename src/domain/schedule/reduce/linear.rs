//! Every rank sends to the root, which combines in order of ranks.

use super::ascending::{self, Ascending, Senders};
use crate::registry::{Algorithm, PLAIN};
use crate::{BracketedBy, Collective, Cost, Rank, Shape};

/// Cost `(p - 1) (alpha + beta m + gamma m)`.
///
/// The root takes the ranks below it from the nearest down and then those above it upwards, so
/// every combination joins adjacent ranges, whatever the root.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "linear",
    summary: "every rank sends to the root, which combines one after the other",
    source: "folklore; Open MPI's basic linear",
    formula: "(p-1) (alpha + beta m + gamma m)",
    brackets_by: &[BracketedBy::Root],
    cost: |ranks| Some(Cost::combining(ranks - 1)),
    scratch: |shape, rank| ascending::scratch(&place(shape, rank)),
    program: |shape, rank| Box::new(place(shape, rank)),
    ..PLAIN
};

fn place(shape: &Shape, rank: Rank) -> Ascending {
    let is_root = rank == shape.root;
    Ascending {
        rank,
        in_place: shape.in_place,
        senders: if is_root {
            Senders::Others(shape.ranks)
        } else {
            Senders::Children(Vec::new())
        },
        receiver: (!is_root).then_some(shape.root),
    }
}
