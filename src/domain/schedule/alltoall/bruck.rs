//! Bruck's algorithm: blocks travel by the digits of their distances, many in one message.

use super::blocks_of_ranks;
use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{
    Buffer, Collective, Parameter, Partition, Rank, Room, Round, Shape, Span, Translation,
};

/// `ceil(log_k p)` rounds of up to `k - 1` messages at once; a rank sends `p m (k - 1) / k` in each. The fewest messages,
/// at more data: for short blocks.
///
/// First a rank orders its blocks by their distance, the number of ranks from here to their destination. In the round of
/// a digit, all blocks with the same digit other than 0 go that far in one message, which is packed before. In the end
/// block `i` came from the rank `i` before this one, and all are put in order. In place nothing changes, as all
/// blocks are copied first.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    id: "bruck",
    summary: "blocks travel by the digits of their distances in base k, all with one digit in one message",
    source: "Bruck, Ho, Kipnis, Upfal, Weathersby 1997; radix 2: Open MPI's modified_bruck, MPICH's brucks",
    formula: "ceil(log_k p) (alpha + (k-1)/k p beta m)",
    parameters: &[Parameter::Radix],
    translation: |_| Some(Translation::Ranks),
    scratch,
    program: |shape, rank| Box::new(Travelling::new(shape, rank)),
    ..PLAIN
};

/// The most blocks that are put in order in one round, which bounds the memory of a round.
pub(super) const ORDERED_AT_ONCE: u32 = 4096;

/// The blocks by distance.
pub(super) const BY_DISTANCE: Buffer = Buffer::Scratch(0);

/// The buffer of a packed message.
fn packed(digit: u32) -> Buffer {
    Buffer::Scratch(digit as u8)
}

/// All blocks by distance, and a message for every digit but 0.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let all = Travelling::new(shape, rank);
    let digits = 1..all.radix;
    let longest = |digit| {
        let counts = (0..all.digits).map(|place| all.block_count(place, digit));
        counts.max().unwrap_or(0)
    };
    let messages = digits.map(|digit| Room::parts(all.ranks, 0, longest(digit)));
    std::iter::once(Room::WHOLE).chain(messages).collect()
}

/// A rank in the middle of the exchange, of whose blocks all with one digit travel together.
pub(super) struct Travelling {
    rank: Rank,
    ranks: u32,
    pub(super) radix: u32,
    /// The number of digits of the largest distance.
    pub(super) digits: u32,
}

impl Travelling {
    pub(super) fn new(shape: &Shape, rank: Rank) -> Self {
        let ranks = shape.ranks;
        // With a larger base, every distance has one digit as well.
        let radix = shape.radix.min(ranks);
        let counted = |place: &u32| u64::from(radix).saturating_pow(*place) < ranks.into();
        Self {
            rank,
            ranks,
            radix,
            digits: (0..).take_while(counted).count() as u32,
        }
    }

    /// What a digit at a place counts.
    pub(super) fn weight(&self, place: u32) -> u32 {
        self.radix.pow(place)
    }

    /// The distance that a digit stands for, if a block has it.
    pub(super) fn distance(&self, place: u32, digit: u32) -> Option<u32> {
        let distance = self.weight(place).checked_mul(digit)?;
        (distance < self.ranks).then_some(distance)
    }

    /// The number of blocks with a digit at a place.
    fn block_count(&self, place: u32, digit: u32) -> u32 {
        let Some(first) = self.distance(place, digit) else {
            return 0;
        };
        let weight = u64::from(self.weight(place));
        let group = weight * u64::from(self.radix);
        let from_first = u64::from(self.ranks - first);
        (from_first / group * weight + (from_first % group).min(weight)) as u32
    }

    /// The blocks with a digit, where they are.
    pub(super) fn blocks_with_digit(&self, place: u32, digit: u32) -> Span {
        let partition = Partition::ByDigit {
            ranks: self.ranks,
            radix: self.radix,
            weight: self.weight(place),
        };
        Span::block(BY_DISTANCE, partition, digit.into())
    }

    /// The same blocks as a message.
    pub(super) fn message(&self, place: u32, digit: u32) -> Span {
        let count = self.block_count(place, digit);
        blocks_of_ranks(packed(digit), 0, count, self.ranks)
    }

    /// Copies the input, which begins with the block of rank 0, so that it begins with that of this rank.
    fn order_by_distance(&self, round: &mut Round) {
        round.copy(
            blocks_of_ranks(Buffer::Input, self.rank, self.ranks, self.ranks),
            blocks_of_ranks(BY_DISTANCE, 0, self.ranks, self.ranks),
        );
    }

    /// Copies the blocks from a distance on to the places of their sources.
    fn order_by_source(&self, first: u32, round: &mut Round) {
        for distance in first..self.ranks.min(first + ORDERED_AT_ONCE) {
            let source = (self.rank + (self.ranks - distance)) % self.ranks;
            round.copy(
                blocks_of_ranks(BY_DISTANCE, distance, 1, self.ranks),
                blocks_of_ranks(Buffer::Output, source, 1, self.ranks),
            );
        }
    }

    pub(super) fn pack(&self, place: u32, round: &mut Round) {
        for digit in (1..self.radix).take_while(|digit| self.distance(place, *digit).is_some()) {
            round.copy(
                self.blocks_with_digit(place, digit),
                self.message(place, digit),
            );
        }
    }

    fn exchange(&self, place: u32, round: &mut Round) {
        for digit in 1..self.radix {
            let Some(distance) = self.distance(place, digit) else {
                return;
            };
            let to = (self.rank + distance) % self.ranks;
            let from = (self.rank + (self.ranks - distance)) % self.ranks;
            round.send(to, self.message(place, digit));
            round.recv(from, self.blocks_with_digit(place, digit));
        }
    }
}

impl Program for Travelling {
    fn rounds(&self) -> u64 {
        1 + 2 * u64::from(self.digits) + u64::from(self.ranks.div_ceil(ORDERED_AT_ONCE))
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Some(index) = index.checked_sub(1) else {
            return self.order_by_distance(round);
        };
        if let Some(later) = index.checked_sub(2 * u64::from(self.digits)) {
            return self.order_by_source(later as u32 * ORDERED_AT_ONCE, round);
        }
        let place = (index / 2) as u32;
        if index.is_multiple_of(2) {
            self.pack(place, round);
        } else {
            self.exchange(place, round);
        }
    }
}
