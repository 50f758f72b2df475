//! Every rank sends to the root when the root asks it to.

use super::star::{self, Pace};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost};

/// Cost `alpha + (p - 1) (alpha + beta m)`.
///
/// The root asks the next rank, by an empty message, while it receives from the one before: no long
/// message arrives before there is a place for it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "linear_sync",
    summary: "the root asks one rank after the other to send, with empty messages",
    source: "Open MPI's linear with synchronisation",
    formula: "alpha + (p-1) (alpha + beta m)",
    cost: |ranks| {
        let others = u64::from(ranks) - 1;
        Some(Cost::moving(others + 1, others))
    },
    program: |shape, rank| star::program(Pace::OnRequest, shape, rank),
    ..PLAIN
};
