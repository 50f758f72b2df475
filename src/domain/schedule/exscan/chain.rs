//! A pipeline along the chain of ranks.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::relay::Arrivals;
use crate::{Buffer, Collective, Cost, Parameter, Partition, Rank, Room, Round, Shape, Span};

/// Cost `p - 2 + b` steps, each with a combination except the last one; if `p = 2` there is none at all.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Exscan,
    id: "chain",
    summary: "pipeline of blocks along the chain of ranks",
    source: "linear pipeline: Sanders, Träff 2006; pipelining lemma: Träff 2021",
    formula: "(p-2 + b) (alpha + beta m/b) + (p-3 + b) gamma m/b",
    parameters: &[Parameter::Blocks],
    cost,
    scratch,
    program,
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let fill = i64::from(ranks) - 2;
    let combinations = if ranks > 2 { [fill - 1, 1] } else { [0, 0] };
    Some(Cost::pipelined([fill, 1], combinations))
}

/// One block to be sent on; in place, before it, two for arriving blocks, as the output is the input as well.
pub(super) fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let is_inner = rank > 0 && rank + 1 < shape.ranks;
    if !is_inner {
        return Vec::new();
    }
    let arrivals = if shape.in_place { 2 } else { 0 };
    vec![Room::window(Partition::Even(shape.blocks), 1); arrivals + 1]
}

/// The program of a rank.
pub(super) fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Link {
        rank,
        ranks: shape.ranks,
        blocks: shape.blocks,
        in_place: shape.in_place,
    })
}

struct Link {
    rank: Rank,
    ranks: u32,
    blocks: u32,
    in_place: bool,
}

impl Link {
    fn block(&self, buffer: Buffer, block: u64) -> Span {
        Span::block(buffer, Partition::Even(self.blocks), block)
    }

    fn is_last(&self) -> bool {
        self.rank + 1 == self.ranks
    }

    /// The place of an arriving block. The last rank's own vector is not needed, so that its output is free.
    fn arrival_span(&self, block: u64) -> Span {
        let buffer = if self.in_place && !self.is_last() {
            Arrivals { first: 0 }.buffer(block)
        } else {
            Buffer::Output
        };
        self.block(buffer, block)
    }

    /// The place of a block to be sent on.
    fn leaving(&self, block: u64) -> Span {
        self.block(Buffer::Scratch(if self.in_place { 2 } else { 0 }), block)
    }
}

impl Program for Link {
    fn rounds(&self) -> u64 {
        let blocks = u64::from(self.blocks);
        if self.rank == 0 || self.is_last() {
            return blocks;
        }
        // The last block leaves in the round after it was combined.
        2 * blocks + 1
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Some(before) = self.rank.checked_sub(1) else {
            return round.send(1, self.block(Buffer::Input, index));
        };
        if self.is_last() {
            return round.recv(before, self.arrival_span(index));
        }
        let block = index / 2;
        if !index.is_multiple_of(2) {
            let own = self.block(Buffer::Input, block);
            return round.combine(self.arrival_span(block), own, self.leaving(block));
        }
        if block < self.blocks.into() {
            round.recv(before, self.arrival_span(block));
        }
        if let Some(complete) = block.checked_sub(1) {
            round.send(self.rank + 1, self.leaving(complete));
            if self.in_place {
                // The rank's own block has been combined, and its place is free.
                round.copy(
                    self.arrival_span(complete),
                    self.block(Buffer::Output, complete),
                );
            }
        }
    }
}
