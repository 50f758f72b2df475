//! Any reduce to rank 0 followed by any broadcast from it.

use crate::program::{Names, Program, Renamed, ScratchNames, Sequence};
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Parameter, Rank, Room, Shape};

/// Costs the sum of its parts. The parameters `blocks` and `radix` go to the parts that take them.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "reduce_broadcast",
    summary: "a reduce to rank 0, then a broadcast from it",
    source: "composition",
    formula: "the sum of its parts",
    parameters: &[
        Parameter::Reduce,
        Parameter::Bcast,
        Parameter::Blocks,
        Parameter::Radix,
    ],
    scratch,
    program,
    ..PLAIN
};

fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let shape = shape.rooted_at_zero();
    let mut scratch = (shape.parts.reduce.scratch)(&shape, rank);
    scratch.extend((shape.parts.bcast.scratch)(&shape, rank));
    scratch
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let shape = shape.rooted_at_zero();
    let [reduce, bcast] = [shape.parts.reduce, shape.parts.bcast];
    let scratch = ScratchNames::After((reduce.scratch)(&shape, rank).len() as u8);
    let names = Names {
        input: Buffer::Input,
        output: Buffer::Output,
        scratch,
    };
    let bcast = Renamed {
        program: (bcast.program)(&shape, rank),
        names,
    };
    Box::new(Sequence((reduce.program)(&shape, rank), Box::new(bcast)))
}
