//! Blocks along the edges of a circulant graph.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::circulant::Timetable;
use crate::{Buffer, Collective, Cost, Parameter, Partition, Round, Span};

/// `L - 1 + b` steps with `L = ceil(log2 p)`, for every p: no broadcast of b blocks takes fewer.
///
/// All ranks send and receive in nearly every round, each at `L` distances in turn.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "circulant",
    summary: "pipeline over a circulant graph, in the fewest rounds for any number of ranks",
    source: "Träff 2024, arXiv 2407.18004",
    formula: "(L-1 + b) (alpha + beta m/b)",
    parameters: &[Parameter::Blocks],
    cost: |ranks| {
        Some(Cost::pipelined(
            [i64::from(log2_ceil(ranks)) - 1, 1],
            [0, 0],
        ))
    },
    program: |shape, rank| {
        Box::new(Circulant {
            timetable: Timetable::new(shape, rank),
            partition: Partition::Even(shape.blocks),
        })
    },
    ..PLAIN
};

struct Circulant {
    timetable: Timetable,
    partition: Partition,
}

impl Program for Circulant {
    fn rounds(&self) -> u64 {
        self.timetable.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let [sent, received] = self.timetable.round(index);
        let block = |block| Span::block(Buffer::Output, self.partition, block);
        if let Some((to, number)) = sent {
            round.send(to, block(number));
        }
        if let Some((from, number)) = received {
            round.recv(from, block(number));
        }
    }
}
