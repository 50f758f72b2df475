//! The tree of radix k: flatter than the binomial tree, at more messages a level.

use super::collecting;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::knomial;
use crate::{Collective, Parameter};

/// `ceil(log_k p)` levels of up to `k - 1` messages one after the other, and `(p - 1) beta m` at the root.
/// With radix 2 it is the binomial tree; with a larger radix contributions pass fewer ranks.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "knomial",
    summary: "tree of radix k, smallest subtrees first",
    source: "generalised binomial tree, as in MPICH",
    formula: "up to (k-1) ceil(log_k p) alpha + (p-1) beta m",
    parameters: &[Parameter::Radix],
    scratch: |shape, rank| collecting::scratch(knomial(shape.radix), shape, rank),
    program: |shape, rank| collecting::program(knomial(shape.radix), shape, rank),
    ..PLAIN
};
