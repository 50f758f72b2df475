//! Every rank sends every other one its part, one after the other.

use super::{reversed, ring};
use crate::allgather;
use crate::registry::Algorithm;

/// Cost `(p - 1) alpha + (p - 1)/p (beta + gamma) m`, m the whole vector: the linear allgather run
/// backwards. No rank combines for another.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    id: "pairwise",
    summary: "every rank sends each other one its part, at distances p-1, ..., 2, 1",
    source: "Thakur, Rabenseifner, Gropp 2005",
    program: |shape, rank| reversed::program(&allgather::linear::ALGORITHM, shape, rank),
    ..ring::ALGORITHM
};
