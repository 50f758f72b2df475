//! The whole vector along the chain of ranks.

use super::chain;
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost};

/// Cost `(p - 1) (alpha + beta m + gamma m)`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scan,
    id: "linear",
    summary: "every rank adds its vector and passes the result on to the next one",
    source: "Open MPI's linear",
    formula: "(p-1) (alpha + beta m + gamma m)",
    cost: |ranks| Some(Cost::combining(ranks - 1)),
    scratch: chain::scratch,
    program: chain::program,
    ..PLAIN
};
