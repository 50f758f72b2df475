//! One partner after the other.

use super::blocks_of_ranks;
use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::relay::Arrivals;
use crate::{Buffer, Collective, Cost, Partition, Rank, Room, Round, Shape, Span, Translation};

/// Cost `(p - 1) (alpha + beta m)`. In every step each rank sends one block and receives one: among `2^k` ranks from the
/// rank that it sends to, otherwise from the rank as far before it as that one is after it.
///
/// In place, a block can leave only before the one that replaces it arrives. So partners exchange blocks there: among
/// `2^k` ranks the same as otherwise, in `p - 1` steps; among other numbers of ranks in `p` steps, in one of which a
/// rank has itself as partner.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    id: "pairwise",
    summary: "one block sent and one received in every step, each with another rank",
    source: "Thakur, Rabenseifner, Gropp 2005; Open MPI's and MPICH's pairwise",
    formula: "(p-1) (alpha + beta m), in place p (alpha + beta m) unless p = 2^L",
    cost: |ranks| Some(Cost::whole(u64::from(ranks) - 1, 0)),
    translation: |shape| {
        if shape.ranks.is_power_of_two() {
            Some(Translation::Bits)
        } else {
            (!shape.in_place).then_some(Translation::Ranks)
        }
    },
    scratch,
    program: |shape, rank| {
        let Shape {
            ranks, in_place, ..
        } = *shape;
        if in_place {
            Box::new(Replacing { rank, ranks })
        } else {
            Box::new(Exchanging { rank, ranks })
        }
    },
    ..PLAIN
};

/// In place, two blocks that arrive.
fn scratch(shape: &Shape, _: Rank) -> Vec<Room> {
    let arrivals = if shape.in_place { 2 } else { 0 };
    vec![Room::window(Partition::parts(shape.ranks), 1); arrivals]
}

struct Exchanging {
    rank: Rank,
    ranks: u32,
}

impl Program for Exchanging {
    fn rounds(&self) -> u64 {
        u64::from(self.ranks) - 1
    }

    fn round(&self, index: u64, round: &mut Round) {
        let block = |buffer, rank| blocks_of_ranks(buffer, rank, 1, self.ranks);
        if index == 0 {
            round.copy(
                block(Buffer::Input, self.rank),
                block(Buffer::Output, self.rank),
            );
        }
        let step = index as u32 + 1;
        let [to, from] = if self.ranks.is_power_of_two() {
            [self.rank ^ step; 2]
        } else {
            [step, self.ranks - step].map(|distance| (self.rank + distance) % self.ranks)
        };
        round.send(to, block(Buffer::Input, to));
        round.recv(from, block(Buffer::Output, from));
    }
}

struct Replacing {
    rank: Rank,
    ranks: u32,
}

impl Replacing {
    fn steps(&self) -> u64 {
        let saved = u64::from(self.ranks.is_power_of_two());
        u64::from(self.ranks) - saved
    }

    /// The partner in a step, if it is another rank. Unless there are `2^k` ranks, the numbers of two partners add up
    /// to that of the step, modulo p.
    fn partner(&self, step: u64) -> Option<Rank> {
        let partner = if self.ranks.is_power_of_two() {
            self.rank ^ (step as u32 + 1)
        } else {
            (step as u32 + (self.ranks - self.rank)) % self.ranks
        };
        (step < self.steps() && partner != self.rank).then_some(partner)
    }

    fn block(&self, partner: Rank) -> Span {
        blocks_of_ranks(Buffer::Output, partner, 1, self.ranks)
    }

    /// The place of the block that arrives in a step.
    fn arrival_span(&self, partner: Rank, step: u64) -> Span {
        let buffer = Arrivals { first: 0 }.buffer(step);
        self.block(partner).in_buffer(buffer)
    }
}

impl Program for Replacing {
    fn rounds(&self) -> u64 {
        // What arrives in the last step is copied in a round of its own.
        self.steps() + 1
    }

    fn round(&self, index: u64, round: &mut Round) {
        if let Some(partner) = self.partner(index) {
            round.send(partner, self.block(partner));
            round.recv(partner, self.arrival_span(partner, index));
        }
        // What arrived in the step before replaces the block that left.
        if let Some(before) = index.checked_sub(1)
            && let Some(partner) = self.partner(before)
        {
            round.copy(self.arrival_span(partner, before), self.block(partner));
        }
    }
}
