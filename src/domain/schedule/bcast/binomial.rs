//! The binomial tree: in every round twice as many ranks have the vector.

use super::descending;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::branch::binomial;
use crate::{Collective, Cost};

/// Cost `L (alpha + beta m)` with `L = ceil(log2 p)`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "binomial",
    summary: "binomial tree, whole vector, largest subtree first",
    source: "Thakur, Rabenseifner, Gropp 2005",
    formula: "L (alpha + beta m)",
    cost: |ranks| Some(Cost::whole(log2_ceil(ranks).into(), 0)),
    program: |shape, rank| descending::program(binomial, shape, rank),
    ..PLAIN
};
