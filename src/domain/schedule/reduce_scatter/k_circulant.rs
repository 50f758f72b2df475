//! The circulant allgather of radix k run backwards.

use super::{circulant, ring};
use crate::Parameter;
use crate::registry::Algorithm;

/// `ceil(log_k p)` rounds of up to `k - 1` messages at once and `(p - 1)/p (beta + gamma) m`, m the whole
/// vector, for every p. With radix 2 it is `circulant`. Parts are combined cyclically, not in order.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    id: "k_circulant",
    summary: "what is left is divided among k ranks at distances p/k, p/k^2, ..., 1, rounded up, for any p",
    source: "Bruck, Ho, Kipnis, Upfal, Weathersby 1997; Träff 2024, arXiv 2410.14234",
    formula: "ceil(log_k p) alpha + (p-1)/p (beta + gamma) m, and a start for each of up to k-1 messages a round",
    parameters: &[Parameter::Radix],
    cost: |_| None,
    scratch: |shape, rank| circulant::scratch(shape.radix, shape, rank),
    program: |shape, rank| circulant::program(shape.radix, shape, rank),
    ..ring::ALGORITHM
};
