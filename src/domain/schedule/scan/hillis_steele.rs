//! Straight doubling: every rank passes its result so far to the rank 1, 2, 4, ... further.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::{Buffer, Collective, Cost, Rank, Room, Round, Shape, Span};

/// Cost `L (alpha + beta m + gamma m)`, for every p: the fewest rounds, and one combination in each.
///
/// Before the step of distance `d` a rank has combined the last `d` vectors up to its own.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scan,
    id: "hillis_steele",
    summary: "the result so far sent to the ranks 1, 2, 4, ... further, for any number of ranks",
    source: "Hillis, Steele 1986",
    formula: "L (alpha + beta m + gamma m)",
    cost: |ranks| Some(Cost::combining(log2_ceil(ranks))),
    scratch,
    program: |shape, rank| {
        Box::new(Doubling {
            rank,
            ranks: shape.ranks,
            in_place: shape.in_place,
        })
    },
    ..PLAIN
};

/// The place of an arriving vector, except for the first one if the output is free.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let arrives_in_scratch = shape.in_place && rank > 0 || rank > 1;
    arrives_in_scratch
        .then_some(Room::WHOLE)
        .into_iter()
        .collect()
}

struct Doubling {
    rank: Rank,
    ranks: u32,
    in_place: bool,
}

impl Program for Doubling {
    fn rounds(&self) -> u64 {
        2 * u64::from(log2_ceil(self.ranks))
    }

    fn round(&self, index: u64, round: &mut Round) {
        let [input, output] = [Buffer::Input, Buffer::Output].map(Span::whole);
        let distance = 1 << (index / 2);
        let is_first = distance == 1;
        let before = self.rank.checked_sub(distance);
        let arrived = if is_first && !self.in_place {
            output
        } else {
            Span::whole(Buffer::Scratch(0))
        };
        let so_far = if is_first { input } else { output };
        if !index.is_multiple_of(2) {
            if before.is_some() {
                round.combine(arrived, so_far, output);
            }
            return;
        }
        if is_first && self.rank == 0 {
            round.copy(input, output);
        }
        if let Some(after) = self.rank.checked_add(distance)
            && after < self.ranks
        {
            round.send(after, so_far);
        }
        if let Some(before) = before {
            round.recv(before, arrived);
        }
    }
}
