//! A reduce-scatter and an allgather along the edges of a circulant graph.

use super::ring;
use crate::registry::Algorithm;
use crate::shape::log2_ceil;
use crate::{Cost, allgather, reduce_scatter};

/// Cost `2L alpha + 2 (p-1)/p beta m + (p-1)/p gamma m` with `L = ceil(log2 p)`, for every p: as few
/// bytes as the ring and as few messages as Rabenseifner's algorithm on a power of two, without folding.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    id: "circulant",
    summary: "circulant reduce-scatter and allgather: least bytes in 2 ceil(log2 p) messages for any p",
    source: "Träff 2024, arXiv 2410.14234",
    formula: "2L alpha + 2 (p-1)/p beta m + (p-1)/p gamma m",
    cost: |ranks| Some(Cost::of_parts(ranks, 2 * log2_ceil(ranks), [2, 1])),
    scratch: SCATTER.scratch,
    program: |shape, rank| ring::scattered(&SCATTER, &allgather::circulant::ALGORITHM, shape, rank),
    ..ring::ALGORITHM
};

const SCATTER: Algorithm = reduce_scatter::circulant::ALGORITHM;
