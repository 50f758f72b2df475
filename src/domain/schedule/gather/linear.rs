//! Every rank sends to the root, which receives in rank order.

use super::star::{self, Pace};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost};

/// Cost `(p - 1) (alpha + beta m)`: each receive waits for the one before.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "linear",
    summary: "the root receives from every rank in turn",
    source: "folklore; Open MPI's basic linear",
    formula: "(p-1) (alpha + beta m)",
    cost: |ranks| Some(Cost::whole(u64::from(ranks) - 1, 0)),
    program: |shape, rank| star::program(Pace::InTurn, shape, rank),
    ..PLAIN
};
