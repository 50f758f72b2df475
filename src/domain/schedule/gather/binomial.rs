//! The binomial tree: in every round half of the ranks send all contributions that they have.

use super::collecting;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::branch::binomial;
use crate::{Collective, Cost};

/// Cost `L alpha + (p - 1) beta m` with `L = ceil(log2 p)`. With another root than 0 a subtree may
/// wrap around the end: a message of two ranges at the root.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "binomial",
    summary: "binomial tree, smallest subtree first",
    source: "Thakur, Rabenseifner, Gropp 2005",
    formula: "L alpha + (p-1) beta m",
    cost: |ranks| Some(Cost::moving(log2_ceil(ranks).into(), u64::from(ranks) - 1)),
    scratch: |shape, rank| collecting::scratch(binomial, shape, rank),
    program: |shape, rank| collecting::program(binomial, shape, rank),
    ..PLAIN
};
