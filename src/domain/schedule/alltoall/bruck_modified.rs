//! Bruck's algorithm in the other direction, whose last messages arrive where they belong.

use super::blocks_of_ranks;
use super::bruck::{self, BY_DISTANCE, ORDERED_AT_ONCE, Travelling};
use crate::program::Program;
use crate::registry::Algorithm;
use crate::{Buffer, Rank, Round, Shape};

/// As many rounds and bytes as `bruck`, without its last rotation.
///
/// Blocks travel to lower ranks instead of higher ones, and a rank orders them first by the number of ranks from their
/// destination to here. What arrives in the round of the highest digit has come to its destination, and its sources are
/// consecutive ranks: each message is received into the output, and sent without being packed. All other blocks arrived
/// in earlier rounds, and those that are left, of consecutive sources too, are copied meanwhile.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    id: "bruck_modified",
    summary: "Bruck's algorithm to lower ranks: the last messages arrive in order, so nothing is rotated after them",
    source: "Träff, Rougier, Hunold, ICS 2014: modified Bruck",
    program: |shape, rank| Box::new(Descending::new(shape, rank)),
    ..bruck::ALGORITHM
};

struct Descending {
    travelling: Travelling,
    rank: Rank,
    ranks: u32,
}

impl Descending {
    fn new(shape: &Shape, rank: Rank) -> Self {
        Self {
            travelling: Travelling::new(shape, rank),
            rank,
            ranks: shape.ranks,
        }
    }

    fn last_place(&self) -> u32 {
        self.travelling.digits - 1
    }

    /// Copies blocks of the input to the distances from their destinations, from a distance on.
    fn order_by_distance(&self, first: u32, round: &mut Round) {
        for distance in first..self.ranks.min(first + ORDERED_AT_ONCE) {
            let destination = (self.rank + (self.ranks - distance)) % self.ranks;
            round.copy(
                blocks_of_ranks(Buffer::Input, destination, 1, self.ranks),
                blocks_of_ranks(BY_DISTANCE, distance, 1, self.ranks),
            );
        }
    }

    /// The ranks to which blocks with a distance go, and from which they come.
    fn peers(&self, distance: u32) -> [Rank; 2] {
        [self.ranks - distance, distance].map(|ahead| (self.rank + ahead) % self.ranks)
    }

    fn exchange(&self, place: u32, round: &mut Round) {
        for digit in 1..self.travelling.radix {
            let Some(distance) = self.travelling.distance(place, digit) else {
                return;
            };
            let [to, from] = self.peers(distance);
            round.send(to, self.travelling.message(place, digit));
            round.recv(from, self.travelling.blocks_with_digit(place, digit));
        }
    }

    /// The exchange of the highest digit. What comes from each distance is consecutive there and in the output.
    fn exchange_last(&self, round: &mut Round) {
        let weight = self.travelling.weight(self.last_place());
        round.copy(
            blocks_of_ranks(BY_DISTANCE, 0, weight, self.ranks),
            blocks_of_ranks(Buffer::Output, self.rank, weight, self.ranks),
        );
        for digit in 1..self.travelling.radix {
            let Some(distance) = self.travelling.distance(self.last_place(), digit) else {
                return;
            };
            let count = weight.min(self.ranks - distance);
            let [to, from] = self.peers(distance);
            round.send(
                to,
                blocks_of_ranks(BY_DISTANCE, distance, count, self.ranks),
            );
            round.recv(
                from,
                blocks_of_ranks(Buffer::Output, from, count, self.ranks),
            );
        }
    }
}

impl Program for Descending {
    fn rounds(&self) -> u64 {
        let in_order = u64::from(self.ranks.div_ceil(ORDERED_AT_ONCE));
        in_order + 2 * u64::from(self.last_place()) + 1
    }

    fn round(&self, index: u64, round: &mut Round) {
        let in_order = u64::from(self.ranks.div_ceil(ORDERED_AT_ONCE));
        let Some(index) = index.checked_sub(in_order) else {
            return self.order_by_distance(index as u32 * ORDERED_AT_ONCE, round);
        };
        let place = (index / 2) as u32;
        if place == self.last_place() {
            self.exchange_last(round);
        } else if index.is_multiple_of(2) {
            self.travelling.pack(place, round);
        } else {
            self.exchange(place, round);
        }
    }
}
