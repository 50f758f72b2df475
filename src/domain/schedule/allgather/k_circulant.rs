//! Bruck's exchange with several ranks at once, at distances that are divided by k from the number of ranks.

use super::circulant;
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Parameter};

/// `ceil(log_k p)` rounds of up to `k - 1` messages at once, for every p: fewer rounds than with `circulant`, which has
/// radix 2, at more messages in all. This is faster where starting a message takes a small part of its latency.
///
/// A rank's range of contributions grows up to k times in a round. This is Bruck's algorithm for several ports; the
/// distances are those of [`circulant`], so that no message is much longer than necessary.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "k_circulant",
    summary: "all that is gathered is passed on to k-1 ranks at once at distances p/k, p/k^2, ..., 1, nearest first, for any p",
    source: "Bruck, Ho, Kipnis, Upfal, Weathersby 1997; Träff 2024, arXiv 2410.14234",
    formula: "ceil(log_k p) alpha + (p-1) beta m, and a start for each of up to k-1 messages a round",
    parameters: &[Parameter::Radix],
    program: |shape, rank| circulant::program(shape.radix, shape, rank),
    ..PLAIN
};
