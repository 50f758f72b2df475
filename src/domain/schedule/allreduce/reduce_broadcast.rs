//! Any reduce to rank 0 followed by any broadcast from it.

use crate::program::{Names, Program, Sequence};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Parameter, Parts, Rank, Room, Shape};

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
    let Parts { reduce, bcast, .. } = shape.parts;
    let mut scratch = reduce.part_scratch(shape, rank);
    scratch.extend(bcast.part_scratch(shape, rank));
    scratch
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Parts { reduce, bcast, .. } = shape.parts;
    let others = reduce.part_scratch(shape, rank).len();
    Box::new(Sequence(
        reduce.part_program(shape, rank, Names::own_after(0)),
        bcast.part_program(shape, rank, Names::own_after(others)),
    ))
}
