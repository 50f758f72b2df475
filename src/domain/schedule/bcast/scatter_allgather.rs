//! The root scatters the vector, then all ranks gather it.

use crate::program::{Names, Program, Renamed, ScratchNames, Sequence, Sparing};
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Cost, Rank, Shape, allgather, scatter};

/// Cost `2L alpha + 2 (p-1)/p beta m` if `p = 2^L`, elsewhere `(L + p - 1) alpha` and a little more than the same
/// bytes: about twice the time of moving the vector once, for long vectors. The allgather sends nothing to the root,
/// which has all data, and whose buffer must not be written.
///
/// A minimum spanning tree scatters a p-th of the vector to each rank. The allgather is by recursive
/// doubling where p is a power of two, along a ring elsewhere (van de Geijn).
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "scatter_allgather",
    summary: "MST scatter of p pieces, then allgather: recursive doubling if p = 2^L, else a ring",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    formula: "2L alpha + 2 (p-1)/p beta m if p = 2^L, else (L + p-1) alpha and a little more",
    cost,
    pieces: |ranks| ranks,
    program,
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let cost = Cost::of_parts(ranks, 2 * ranks.ilog2(), [2, 0]);
    ranks.is_power_of_two().then_some(cost)
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let gather = if shape.ranks.is_power_of_two() {
        &allgather::recursive_doubling::ALGORITHM
    } else {
        &allgather::ring::ALGORITHM
    };
    scatter_then(gather, shape, rank)
}

/// A scatter by a minimum spanning tree, then this allgather without what the root would receive.
pub(super) fn scatter_then(gather: &Algorithm, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    // Every block has its own place in the output, on every rank.
    let output = Buffer::Output;
    let names = Names {
        input: output,
        output,
        scratch: ScratchNames::Are(output),
    };
    let gather = Sparing {
        program: (gather.program)(shape, rank),
        rank,
        owner: shape.root,
    };
    let scatter = (scatter::mst::ALGORITHM.program)(shape, rank);
    let [scatter, gather] = [scatter, Box::new(gather)].map(|program| Renamed { program, names });
    Box::new(Sequence(Box::new(scatter), Box::new(gather)))
}
