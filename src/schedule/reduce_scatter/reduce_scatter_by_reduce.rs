//! Any reduce to rank 0 followed by a scatter from it.

use crate::program::{Names, Program, Renamed, ScratchNames, Sequence};
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Parameter, Rank, Room, Shape, scatter};

/// The sum of a reduce of the whole vector and of a binomial scatter of its parts. The parameter
/// `blocks` goes to the reduce.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    id: "reduce_scatter_by_reduce",
    summary: "a reduce to rank 0, then a binomial scatter from it",
    source: "composition",
    formula: "the reduce, and L alpha + (p-1)/p beta m",
    parameters: &[Parameter::Reduce, Parameter::Blocks],
    scratch,
    program,
    ..PLAIN
};

const SCATTER: Algorithm = scatter::binomial::ALGORITHM;

/// The parts' buffers, and on rank 0 the combined vector.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let shape = shape.rooted_at_zero();
    let mut scratch = (shape.parts.reduce.scratch)(&shape, rank);
    scratch.extend((SCATTER.scratch)(&shape, rank));
    scratch.extend((rank == 0).then_some(Room::WHOLE));
    scratch
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let shape = shape.rooted_at_zero();
    let reduce = shape.parts.reduce;
    let buffers = scratch(&shape, rank).len() as u8;
    let combined = Buffer::Scratch(buffers.saturating_sub(1));
    let reduce_buffers = (reduce.scratch)(&shape, rank).len() as u8;
    let reduce = Renamed {
        program: (reduce.program)(&shape, rank),
        names: Names {
            input: Buffer::Input,
            output: combined,
            scratch: ScratchNames::After(0),
        },
    };
    let scatter = Renamed {
        program: (SCATTER.program)(&shape, rank),
        names: Names {
            input: combined,
            output: Buffer::Output,
            scratch: ScratchNames::After(reduce_buffers),
        },
    };
    Box::new(Sequence(Box::new(reduce), Box::new(scatter)))
}
