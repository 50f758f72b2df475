//! The minimum spanning tree: halves of a range of ranks join.

use super::collecting;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::spanning::mst;
use crate::{Collective, Cost};

/// Cost `L alpha + (p - 1) beta m` if `p = 2^L`, a little more elsewhere; messages never wrap around,
/// whatever the root.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "mst",
    summary: "minimum spanning tree: the halves of a range of ranks join",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    formula: "L alpha + (p-1) beta m if p = 2^L",
    cost: |ranks| {
        let moved = u64::from(ranks) - 1;
        let cost = Cost::moving(ranks.ilog2().into(), moved);
        ranks.is_power_of_two().then_some(cost)
    },
    scratch: |shape, rank| collecting::scratch(mst, shape, rank),
    program: |shape, rank| collecting::program(mst, shape, rank),
    ..PLAIN
};
