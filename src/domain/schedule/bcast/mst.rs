//! The minimum spanning tree: ranges of ranks are halved.

use super::descending;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::spanning::mst;
use crate::{Collective, Cost};

/// Cost `L (alpha + beta m)` with `L = ceil(log2 p)`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "mst",
    summary: "minimum spanning tree: halve the range of ranks, send to the far end of the other half",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    formula: "L (alpha + beta m)",
    cost: |ranks| Some(Cost::whole(log2_ceil(ranks).into(), 0)),
    program: |shape, rank| descending::program(mst, shape, rank),
    ..PLAIN
};
