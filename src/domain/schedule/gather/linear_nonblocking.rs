//! Every rank sends to the root, which receives from all at once.

use super::star::{self, Pace};
use crate::Collective;
use crate::registry::{Algorithm, PLAIN};

/// Cost `(p - 1) (o + beta m) + alpha`: only the overhead `o` of receiving a message adds up.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "linear_nonblocking",
    summary: "the root posts receives from all ranks and waits for all",
    source: "folklore",
    formula: "(p-1) (o + beta m) + alpha, o the overhead of a receive",
    program: |shape, rank| star::program(Pace::AtOnce, shape, rank),
    ..PLAIN
};
