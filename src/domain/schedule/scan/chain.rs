//! A pipeline along the chain of ranks.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::relay::Arrivals;
use crate::{Buffer, Collective, Cost, Parameter, Partition, Rank, Room, Round, Shape, Span};

/// Cost `p - 2 + b` steps and as many combinations.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scan,
    id: "chain",
    summary: "pipeline of blocks along the chain of ranks",
    source: "linear pipeline: Sanders, Träff 2006; pipelining lemma: Träff 2021",
    formula: "(p-2 + b) (alpha + beta m/b + gamma m/b)",
    parameters: &[Parameter::Blocks],
    cost: |ranks| {
        let fill = i64::from(ranks) - 2;
        Some(Cost::pipelined([fill, 1], [fill, 1]))
    },
    scratch,
    program,
    ..PLAIN
};

/// Where arriving blocks are kept until they have been combined: in the output, unless that is the input as well.
pub(super) fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    if shape.in_place && rank > 0 {
        Arrivals::rooms(shape.blocks, shape.blocks.into()).collect()
    } else {
        Vec::new()
    }
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

    fn next(&self) -> Option<Rank> {
        Some(self.rank + 1).filter(|next| *next < self.ranks)
    }

    /// The place of an arriving block.
    fn arrival_span(&self, block: u64) -> Span {
        let buffer = if self.in_place {
            Arrivals { first: 0 }.buffer(block)
        } else {
            Buffer::Output
        };
        self.block(buffer, block)
    }

    /// Round of the first rank, which has only to send its blocks.
    fn lead(&self, index: u64, round: &mut Round) {
        if index == 0 {
            round.copy(Span::whole(Buffer::Input), Span::whole(Buffer::Output));
        }
        if let Some(next) = self.next() {
            round.send(next, self.block(Buffer::Input, index));
        }
    }
}

impl Program for Link {
    fn rounds(&self) -> u64 {
        let blocks = u64::from(self.blocks);
        if self.rank == 0 {
            return blocks;
        }
        // The last block goes to the next rank in the round after it was combined.
        2 * blocks + u64::from(self.next().is_some())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Some(before) = self.rank.checked_sub(1) else {
            return self.lead(index, round);
        };
        let block = index / 2;
        let is_block = block < self.blocks.into();
        if !index.is_multiple_of(2) {
            let [own, result] =
                [Buffer::Input, Buffer::Output].map(|buffer| self.block(buffer, block));
            return round.combine(self.arrival_span(block), own, result);
        }
        if is_block {
            round.recv(before, self.arrival_span(block));
        }
        if let (Some(next), Some(complete)) = (self.next(), block.checked_sub(1)) {
            round.send(next, self.block(Buffer::Output, complete));
        }
    }
}
