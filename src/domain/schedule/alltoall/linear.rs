//! All messages at once.

use super::blocks_of_ranks;
use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Cost, Rank, Room, Round, Shape, Translation};

/// Cost `alpha + (p - 2) o + (p - 1) beta m`: the port sends one message after the other, but their latencies overlap.
///
/// A rank sends first to the rank after it, and so on, so that not all ranks begin with the same receiver. In place,
/// all blocks are copied before.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    id: "linear",
    summary: "every block straight to its destination, all at once",
    source: "Open MPI's linear",
    formula: "alpha + (p-2) o + (p-1) beta m, o the overhead of a message, a part of alpha",
    cost: |ranks| {
        Some(Cost::AtOnce {
            messages: u64::from(ranks) - 1,
        })
    },
    translation: |_| Some(Translation::Ranks),
    scratch,
    program: |shape, rank| program(shape, rank, shape.ranks),
    ..PLAIN
};

/// In place, a copy of all blocks.
fn scratch(shape: &Shape, _: Rank) -> Vec<Room> {
    shape.in_place.then_some(Room::WHOLE).into_iter().collect()
}

/// The program of a rank that starts up to `at_once` sends, and as many receives, in a round.
pub(super) fn program(shape: &Shape, rank: Rank, at_once: u32) -> Box<dyn Program> {
    Box::new(InBatches {
        rank,
        ranks: shape.ranks,
        in_place: shape.in_place,
        at_once,
    })
}

struct InBatches {
    rank: Rank,
    ranks: u32,
    in_place: bool,
    at_once: u32,
}

impl Program for InBatches {
    fn rounds(&self) -> u64 {
        u64::from((self.ranks - 1).div_ceil(self.at_once)) + u64::from(self.in_place)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let block = |buffer, rank| blocks_of_ranks(buffer, rank, 1, self.ranks);
        let source = if self.in_place {
            Buffer::Scratch(0)
        } else {
            Buffer::Input
        };
        let Some(batch) = index.checked_sub(self.in_place.into()) else {
            let all = |buffer| blocks_of_ranks(buffer, 0, self.ranks, self.ranks);
            return round.copy(all(Buffer::Input), all(source));
        };
        if batch == 0 {
            let own = [Buffer::Input, Buffer::Output].map(|buffer| block(buffer, self.rank));
            round.copy(own[0], own[1]);
        }
        let first = 1 + batch as u32 * self.at_once;
        for distance in first..first.saturating_add(self.at_once).min(self.ranks) {
            let to = (self.rank + distance) % self.ranks;
            let from = (self.rank + (self.ranks - distance)) % self.ranks;
            round.send(to, block(source, to));
            round.recv(from, block(Buffer::Output, from));
        }
    }
}
