//! Two binary trees, each carrying half of the blocks.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::timetable::{Timetable, broadcast_latency};
use crate::{Buffer, Collective, Cost, Parameter, Partition, Round, Span};

/// About `2 log2 p + b` steps: the latency of a tree at the bandwidth of a chain.
///
/// The root, outside both trees, sends blocks to one and to the other in turn. Every rank is inner in
/// at most one of them, so in every round it receives a block and sends one.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "two_tree",
    summary: "pipeline down two binary trees at once, each rank a leaf in one of them",
    source: "Sanders, Speck, Träff 2009",
    formula: "about (2 log2 p + b) (alpha + beta m/b)",
    parameters: &[Parameter::Blocks],
    cost,
    program: |shape, rank| {
        Box::new(TwoTree {
            timetable: Timetable::new(shape, rank),
            partition: Partition::Even(shape.blocks),
        })
    },
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let (fill, exact) = broadcast_latency(ranks);
    Some(Cost::pipelined_where(exact, [fill, 1], [0, 0]))
}

struct TwoTree {
    timetable: Timetable,
    partition: Partition,
}

impl Program for TwoTree {
    fn rounds(&self) -> u64 {
        let rounds = self.timetable.rounds();
        rounds.end - rounds.start
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Self {
            timetable,
            partition,
        } = self;
        let now = timetable.rounds().start + index;
        for edge in &timetable.below {
            if let Some(block) = timetable.block_in_round(edge, now) {
                round.send(edge.peer, Span::block(Buffer::Output, *partition, block));
            }
        }
        for edge in &timetable.above {
            if let Some(block) = timetable.block_in_round(edge, now) {
                round.recv(edge.peer, Span::block(Buffer::Output, *partition, block));
            }
        }
    }
}
