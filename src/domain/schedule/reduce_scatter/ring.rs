//! The bucket algorithm: parts travel around the ring of ranks and collect contributions.

use super::reversed;
use crate::registry::{Algorithm, PLAIN};
use crate::{BracketedBy, Collective, Cost, allgather};

/// Cost `(p - 1) alpha + (p - 1)/p (beta + gamma) m`, m the whole vector: the ring allgather run
/// backwards. Every part is combined beginning behind its own rank and so cyclically, not in order.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    id: "ring",
    summary: "bucket algorithm: parts travel around the ring of ranks and collect contributions",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    formula: "(p-1) alpha + (p-1)/p (beta + gamma) m",
    ordered: false,
    ordered_at_ends: false,
    brackets_by: &[BracketedBy::Element],
    cost: |ranks| Some(Cost::of_parts(ranks, ranks - 1, [1, 1])),
    pieces: |ranks| ranks,
    scratch: reversed::scratch,
    program: |shape, rank| reversed::program(&allgather::ring::ALGORITHM, shape, rank),
    ..PLAIN
};
