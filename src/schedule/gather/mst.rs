//! The minimum spanning tree: halves of a range of ranks join.

use super::collecting;
use crate::Collective;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::branch::mst;

/// Cost `L alpha + (p - 1) beta m` if `p = 2^L`, a little more elsewhere; messages never wrap around,
/// whatever the root.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "mst",
    summary: "minimum spanning tree: the halves of a range of ranks join",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    formula: "L alpha + (p-1) beta m if p = 2^L",
    cost: |ranks| match ranks.is_power_of_two() {
        true => super::tree_cost(log2_ceil(ranks), ranks),
        false => None,
    },
    scratch: |shape, rank| collecting::scratch(mst, shape, rank),
    program: |shape, rank| collecting::program(mst, shape, rank),
    ..PLAIN
};
