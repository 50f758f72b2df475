//! Signals up and down the binomial tree.

use super::up_and_down::{Neighbours, UpAndDown};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Rank};

/// About `2 floor(log2 p) alpha`: the signals of several children overlap.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    id: "binomial",
    summary: "signals up a binomial tree and back",
    source: "tree barrier; Open MPI's tree",
    formula: "2 floor(log2 p) alpha, and the overhead of a message for each further child",
    program: |shape, rank| Box::new(UpAndDown(neighbours(rank, shape.ranks))),
    ..PLAIN
};

/// The parent lacks the lowest bit of a rank's number; the children have one more, below it.
fn neighbours(rank: Rank, ranks: u32) -> Neighbours {
    let below = if rank == 0 {
        u32::BITS
    } else {
        rank.trailing_zeros()
    };
    let children = (0..below)
        .map_while(|bit| 1_u32.checked_shl(bit)?.checked_add(rank))
        .take_while(|child| *child < ranks);
    Neighbours {
        parent: (rank > 0).then(|| rank & (rank - 1)),
        children: children.collect(),
    }
}
