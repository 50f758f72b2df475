//! The two-tree reduce followed by the two-tree broadcast.

use crate::program::{Names, Program, Sequence};
use crate::registry::{Algorithm, PLAIN};
use crate::tree::timetable::broadcast_latency;
use crate::{BracketedBy, Collective, Cost, Parameter, Rank, Shape, bcast, reduce};

/// About `2 (2 log2 p + b)` steps: half the bytes one after the other of `pipelined_tree`. In rank
/// order, since the root is rank 0.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "two_tree",
    summary: "pipelines up two binary trees at once, then down them",
    source: "Sanders, Speck, Träff 2009",
    formula: "about (4 log2 p + 2b) (alpha + beta m/b) + (2 log2 p + b) gamma m/b",
    parameters: &[Parameter::Blocks],
    brackets_by: &[BracketedBy::Element],
    cost,
    scratch: |shape, rank| reduce::two_tree::ALGORITHM.part_scratch(shape, rank),
    program,
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let (fill, exact) = broadcast_latency(ranks);
    // With three ranks one rank waits for the other without combining anything.
    let combinations = [fill - i64::from(ranks == 3), 1];
    Some(Cost::pipelined_where(exact, [2 * fill, 2], combinations))
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let [up, down] = [reduce::two_tree::ALGORITHM, bcast::two_tree::ALGORITHM]
        .map(|part| part.part_program(shape, rank, Names::own_after(0)));
    Box::new(Sequence(up, down))
}
