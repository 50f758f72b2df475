//! As many messages at once as a rank may have under way.

use super::linear;
use crate::Parameter;
use crate::registry::{Algorithm, PLAIN};

/// Cost `ceil((p - 1)/k) alpha + (p - 1) (o + beta m)` with `k` requests: the port sends one message after the other, and
/// the latencies of the messages of a batch overlap.
///
/// A rank has up to `k` sends and as many receives under way, and waits for all of them before it starts the next ones.
/// So few messages arrive at a rank at the same time. With `k = 1` it is the exchange of `pairwise` with other partners,
/// with `k >= p - 1` it is `linear`. In place, all blocks are copied before.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    id: "batched",
    summary: "every block straight to its destination, at most k at once",
    source: "MPICH's scattered; Open MPI's linear with synchronisation",
    formula: "ceil((p-1)/k) alpha + (p-1) (o + beta m), o the overhead of a message",
    parameters: &[Parameter::MaxRequests],
    // The number of batches is not known from the number of ranks alone.
    cost: PLAIN.cost,
    program: |shape, rank| linear::program(shape, rank, shape.max_requests),
    ..linear::ALGORITHM
};
