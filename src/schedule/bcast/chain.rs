//! The pipelined chain: every rank passes blocks on to the next, cyclically from the root.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Cost, Parameter, Partition, Rank, Round, Shape, Span};

/// `p - 2 + b` steps; optimal bandwidth for long vectors.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "chain",
    summary: "pipeline along a chain of all ranks",
    source: "pipelining lemma: Träff 2021",
    formula: "(p-2 + b) (alpha + beta m/b)",
    parameters: &[Parameter::Blocks],
    cost,
    program,
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    Some(Cost::pipelined([i64::from(ranks) - 2, 1], [0, 0]))
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape { ranks, root, .. } = *shape;
    let last = (root + ranks - 1) % ranks;
    Box::new(Chain {
        previous: (rank != root).then(|| (rank + ranks - 1) % ranks),
        next: (rank != last).then(|| (rank + 1) % ranks),
        blocks: shape.blocks,
    })
}

struct Chain {
    previous: Option<Rank>,
    next: Option<Rank>,
    blocks: u32,
}

impl Chain {
    /// The root sends block `j` in round `j`; every other rank sends it a round after receiving it.
    fn send_delay(&self) -> u64 {
        u64::from(self.previous.is_some())
    }
}

impl Program for Chain {
    fn rounds(&self) -> u64 {
        let passing_on = self.next.map_or(0, |_| self.send_delay());
        u64::from(self.blocks) + passing_on
    }

    fn round(&self, index: u64, round: &mut Round) {
        let block = |j: u64| Span::block(Buffer::Output, Partition::Even(self.blocks), j);
        if let (Some(next), Some(j)) = (self.next, index.checked_sub(self.send_delay())) {
            round.send(next, block(j));
        }
        if let Some(previous) = self.previous.filter(|_| index < u64::from(self.blocks)) {
            round.recv(previous, block(index));
        }
    }
}
