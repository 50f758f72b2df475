//! A gather to rank 0 followed by any broadcast from it.

use crate::program::{Names, Program, Sequence};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Parameter, Rank, Room, Shape, gather};

/// The sum of a binomial gather of contributions of `m` bytes and of the broadcast of `p m` bytes.
/// The parameters `blocks` and `radix` go to the broadcast.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "gather_broadcast",
    summary: "a binomial gather to rank 0, then a broadcast from it",
    source: "composition",
    formula: "L alpha + (p-1) beta m, and the broadcast of p m bytes",
    parameters: &[Parameter::Bcast, Parameter::Blocks, Parameter::Radix],
    scratch,
    program,
    ..PLAIN
};

const GATHER: Algorithm = gather::binomial::ALGORITHM;

fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let mut scratch = GATHER.part_scratch(shape, rank);
    scratch.extend(shape.parts.bcast.part_scratch(shape, rank));
    scratch
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let others = GATHER.part_scratch(shape, rank).len();
    let bcast = shape.parts.bcast;
    Box::new(Sequence(
        GATHER.part_program(shape, rank, Names::own_after(0)),
        bcast.part_program(shape, rank, Names::own_after(others)),
    ))
}
