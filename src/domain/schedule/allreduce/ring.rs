//! The ring: a bucket reduce-scatter followed by a bucket allgather.

use crate::program::{Names, Program, Renamed, Sequence};
use crate::registry::{Algorithm, PLAIN};
use crate::{BracketedBy, Buffer, Collective, Cost, Rank, Shape, allgather, reduce_scatter};

/// Cost `2 (p-1) alpha + 2 (p-1)/p beta m + (p-1)/p gamma m`: least bytes of all.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "ring",
    summary: "bucket reduce-scatter and bucket allgather along a ring, p blocks",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    formula: "2 (p-1) alpha + 2 (p-1)/p beta m + (p-1)/p gamma m",
    ordered: false,
    ordered_at_ends: false,
    brackets_by: &[BracketedBy::Element],
    cost: |ranks| Some(Cost::of_parts(ranks, 2 * (ranks - 1), [2, 1])),
    pieces: |ranks| ranks,
    scratch: reduce_scatter::ring::ALGORITHM.scratch,
    program: |shape, rank| {
        let [scatter, gather] = [reduce_scatter::ring::ALGORITHM, allgather::ring::ALGORITHM];
        scattered(&scatter, &gather, shape, rank)
    },
    ..PLAIN
};

/// A reduce-scatter, then an allgather of the combined parts.
pub(super) fn scattered(
    scatter: &Algorithm,
    gather: &Algorithm,
    shape: &Shape,
    rank: Rank,
) -> Box<dyn Program> {
    // The combined part goes to its own place in the output, where nothing else is.
    let shape = Shape {
        in_place: false,
        ..shape.clone()
    };
    let scatter = (scatter.program)(&shape, rank);
    Box::new(Sequence(scatter, gathering(gather, &shape, rank)))
}

/// An allgather of combined parts that are at their places in the output.
pub(super) fn gathering(gather: &Algorithm, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Renamed {
        program: (gather.program)(shape, rank),
        names: Names {
            input: Buffer::Output,
            ..Names::own_after(0)
        },
    })
}
