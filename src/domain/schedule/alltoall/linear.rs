//! All messages at once.

use super::blocks_of_ranks;
use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Rank, Room, Round, Shape, Span, Translation};

/// Cost `alpha + (p - 1) (o + beta m)`: the port sends one message after the other, but their latencies overlap.
///
/// A rank sends first to the rank after it, and so on, so that not all ranks begin with the same receiver. In place,
/// all blocks are copied before.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    id: "linear",
    summary: "every block straight to its destination, all at once",
    source: "Open MPI's linear",
    formula: "alpha + (p-1) (o + beta m), o the overhead of a message",
    translation: |_| Some(Translation::Ranks),
    scratch,
    program: |shape, rank| {
        Box::new(AtOnce {
            rank,
            ranks: shape.ranks,
            in_place: shape.in_place,
        })
    },
    ..PLAIN
};

/// In place, a copy of all blocks.
fn scratch(shape: &Shape, _: Rank) -> Vec<Room> {
    shape.in_place.then_some(Room::WHOLE).into_iter().collect()
}

struct AtOnce {
    rank: Rank,
    ranks: u32,
    in_place: bool,
}

impl Program for AtOnce {
    fn rounds(&self) -> u64 {
        1 + u64::from(self.in_place)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let block = |buffer, rank| blocks_of_ranks(buffer, rank, 1, self.ranks);
        let source = if self.in_place {
            Buffer::Scratch(0)
        } else {
            Buffer::Input
        };
        if self.in_place && index == 0 {
            return round.copy(Span::whole(Buffer::Input), Span::whole(source));
        }
        let own = [Buffer::Input, Buffer::Output].map(|buffer| block(buffer, self.rank));
        round.copy(own[0], own[1]);
        for distance in 1..self.ranks {
            let to = (self.rank + distance) % self.ranks;
            let from = (self.rank + (self.ranks - distance)) % self.ranks;
            round.send(to, block(source, to));
            round.recv(from, block(Buffer::Output, from));
        }
    }
}
