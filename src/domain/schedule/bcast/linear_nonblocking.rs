//! The root starts sends to all other ranks at once.

use super::linear;
use crate::Collective;
use crate::registry::{Algorithm, PLAIN};

/// Cost `(p - 1) (o + beta m) + alpha`: only the overhead `o` of starting a message adds up, which the constants of the
/// lemma cannot express.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "linear_nonblocking",
    summary: "the root starts sends to all ranks and waits for all",
    source: "folklore",
    formula: "(p-1) (o + beta m) + alpha, o the overhead of a send",
    program: |shape, rank| linear::program(shape, rank, u32::MAX),
    ..PLAIN
};
