//! A bucket reduce-scatter, then a gather to the root.

use crate::program::{Names, Program, Renamed, Sequence};
use crate::registry::{Algorithm, PLAIN};
use crate::{BracketedBy, Buffer, Collective, Rank, Room, Shape, gather, reduce_scatter};

/// Cost `(p - 1 + L) alpha + 2 (p - 1)/p beta m + (p - 1)/p gamma m`: for long vectors and operators
/// that commute.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "reduce_scatter_gather_ring",
    summary: "bucket reduce-scatter along a ring, then a binomial gather to the root",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    formula: "(p-1 + L) alpha + 2 (p-1)/p beta m + (p-1)/p gamma m",
    ordered: false,
    ordered_at_ends: false,
    brackets_by: &[BracketedBy::Element],
    pieces: |ranks| ranks,
    scratch,
    program,
    ..PLAIN
};

const SCATTER: Algorithm = reduce_scatter::ring::ALGORITHM;
const GATHER: Algorithm = gather::binomial::ALGORITHM;

/// The buffers of both halves; a rank's combined part is between them, on the root in the output.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let mut scratch = (SCATTER.scratch)(shape, rank);
    scratch.push(Room::part(shape.ranks, rank));
    scratch.extend((GATHER.scratch)(shape, rank));
    scratch
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let before = (SCATTER.scratch)(shape, rank).len();
    let combined = if rank == shape.root {
        Buffer::Output
    } else {
        Buffer::Scratch(before as u8)
    };
    // The parts have memory of their own: for the halves the call is not in place.
    let shape = Shape {
        in_place: false,
        ..shape.clone()
    };
    let scatter = Renamed {
        program: (SCATTER.program)(&shape, rank),
        names: Names {
            output: combined,
            ..Names::own_after(0)
        },
    };
    let gather = Renamed {
        program: (GATHER.program)(&shape, rank),
        names: Names {
            input: combined,
            ..Names::own_after(before + 1)
        },
    };
    Box::new(Sequence(Box::new(scatter), Box::new(gather)))
}
