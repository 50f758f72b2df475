//! The root scatters the vector, then all ranks gather it along a ring.

use super::scatter_allgather::scatter_then;
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost, allgather};

/// Cost `(L + p - 1) alpha + 2 (p-1)/p beta m` if `p = 2^L`, elsewhere a little more bytes: those of
/// `scatter_allgather` with more messages, but all of the ring's between neighbours, so that few of
/// them leave a node whose ranks are numbered together.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "scatter_allgather_ring",
    summary: "MST scatter of p pieces, then allgather along a ring",
    source: "Thakur, Rabenseifner, Gropp 2005",
    formula: "(L + p-1) alpha + 2 (p-1)/p beta m if p = 2^L, else a little more",
    cost,
    pieces: |ranks| ranks,
    program: |shape, rank| scatter_then(&allgather::ring::ALGORITHM, shape, rank),
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let cost = Cost::of_parts(ranks, ranks.ilog2() + ranks - 1, [2, 0]);
    ranks.is_power_of_two().then_some(cost)
}
