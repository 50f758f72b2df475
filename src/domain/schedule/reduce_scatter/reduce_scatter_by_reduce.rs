//! Any reduce to rank 0 followed by a scatter from it.

use crate::program::{Names, Program, Sequence};
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Parameter, Rank, Room, Shape, scatter};

/// The sum of a reduce of the whole vector and of a binomial scatter of its parts. The parameters
/// `blocks` and `radix` go to the reduce.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    id: "reduce_scatter_by_reduce",
    summary: "a reduce to rank 0, then a binomial scatter from it",
    source: "composition",
    formula: "the reduce, and L alpha + (p-1)/p beta m",
    parameters: &[Parameter::Reduce, Parameter::Blocks, Parameter::Radix],
    scratch,
    program,
    ..PLAIN
};

const SCATTER: Algorithm = scatter::binomial::ALGORITHM;

/// The buffers of both, and on rank 0 the combined vector.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let mut scratch = shape.parts.reduce.part_scratch(shape, rank);
    scratch.extend(SCATTER.part_scratch(shape, rank));
    scratch.extend((rank == 0).then_some(Room::WHOLE));
    scratch
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let reduce = shape.parts.reduce;
    let others = reduce.part_scratch(shape, rank).len();
    let combined = Buffer::Scratch((others + SCATTER.part_scratch(shape, rank).len()) as u8);
    let towards = Names {
        output: combined,
        ..Names::own_after(0)
    };
    let from = Names {
        input: combined,
        ..Names::own_after(others)
    };
    Box::new(Sequence(
        reduce.part_program(shape, rank, towards),
        SCATTER.part_program(shape, rank, from),
    ))
}
