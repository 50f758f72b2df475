//! The whole vector along the chain of ranks.

use super::chain;
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost};

/// Cost `(p - 1) (alpha + beta m) + (p - 2) gamma m`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Exscan,
    id: "linear",
    summary: "every rank passes what arrives, with its own vector added, on to the next one",
    source: "Open MPI's linear",
    formula: "(p-1) (alpha + beta m) + (p-2) gamma m",
    cost: |ranks| {
        let ranks = u64::from(ranks);
        Some(Cost::whole(ranks - 1, ranks - 2))
    },
    scratch: chain::scratch,
    program: chain::program,
    ..PLAIN
};
