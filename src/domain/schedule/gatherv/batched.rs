//! The root receives from as many ranks at once as it may have requests.

use crate::gather::linear;
use crate::gather::star::{self, Pace};
use crate::registry::Algorithm;
use crate::{Collective, Parameter};

/// Cost `ceil((p - 1)/k) alpha + (p - 1) (o + beta m)` with `k` requests and parts of `m` bytes: the latencies of the
/// messages of a batch overlap.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gatherv,
    id: "batched",
    summary: "the root receives from the other ranks in rank order, from at most k at once",
    source: "the root's half of MPICH's scattered alltoallv",
    formula: "ceil((p-1)/k) alpha + (p-1) (o + beta m), o the overhead of a receive",
    parameters: &[Parameter::MaxRequests],
    cost: |_| None,
    program: |shape, rank| star::program(Pace::InBatches(shape.max_requests), shape, rank),
    ..linear::ALGORITHM
};
