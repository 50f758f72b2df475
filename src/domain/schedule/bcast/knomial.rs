//! The tree of radix k: flatter than the binomial tree, at more sends a level.

use super::descending;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::knomial;
use crate::{Collective, Parameter};

/// `ceil(log_k p)` levels of up to `k - 1` sends one after the other. With radix 2 it is the binomial tree; larger
/// radices are faster where starting a send takes a small part of its latency.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "knomial",
    summary: "tree of radix k, whole vector, largest subtrees first",
    source: "generalised binomial tree, as in MPICH and Open MPI",
    formula: "up to (k-1) ceil(log_k p) (alpha + beta m)",
    parameters: &[Parameter::Radix],
    program: |shape, rank| descending::program(knomial(shape.radix), shape, rank),
    ..PLAIN
};
