//! Where the channels of a node lie in their segment.

use std::ops::Range;

use crate::link::{Answer, INLINE, LEAST_BUFFER, Slot};
use crate::pool::BUFFERS;

/// Every rank's part begins at a page, so that the rank decides in which memory it lies.
const PAGE: usize = 4096;
/// Slots that a channel has at most. Half of them should last until a receiver that was interrupted for a
/// moment reads on.
const SLOTS: usize = 32;
const LEAST_SLOTS: usize = 4;
/// Bytes of a buffer at most: a rank's buffers stay in a core's second cache. Buffers of half the length, twice as
/// many, take a tenth longer where cores are far from each other.
const BUFFER: usize = 64 << 10;
/// Buffers of a rank that has but one other to send to, and keeps none for others.
const BUFFERS_FOR_ONE: usize = BUFFERS / 2;

/// How the channels of some ranks share a segment.
///
/// Each rank has a part of its own: the slots of its incoming channels and its answers, in the order of the other
/// ranks, then the buffers that it sends in. So pairs of ranks that send each other nothing take little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLayout {
    ranks: usize,
    slots: usize,
    buffer: usize,
}

impl SegmentLayout {
    /// The largest channels of all pairs of `ranks` ranks that fit into `limit` bytes: none if that is not
    /// enough for any, or if there are less than two ranks.
    pub fn within(ranks: usize, limit: usize) -> Option<Self> {
        let peers = ranks.checked_sub(1).filter(|peers| *peers > 0)?;
        // A part, without what it may lose to its alignment.
        let part = (limit / ranks).checked_sub(PAGE)?;
        let mut slots = SLOTS;
        // Short messages are what channels are best at, but slots are not to crowd out the buffers.
        while slots > LEAST_SLOTS && peers * slots * size_of::<Slot>() > part / 4 {
            slots /= 2;
        }
        let channel = slots * size_of::<Slot>() + size_of::<Answer>();
        let rest = part.checked_sub(peers * channel)?;
        let buffer =
            (rest / buffer_count(ranks)).min(BUFFER) / size_of::<Slot>() * size_of::<Slot>();
        (buffer >= LEAST_BUFFER).then_some(Self {
            ranks,
            slots,
            buffer,
        })
    }

    /// The ranks that share the segment.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// What the segment must have.
    pub fn bytes(&self) -> usize {
        self.ranks * self.part()
    }

    /// The largest unit that is never split ([`crate::TransferProgress::new`]).
    pub fn largest_unit(&self) -> usize {
        match self.ranks {
            2 => self.buffer,
            // Pieces may have to go in slots.
            _ => INLINE,
        }
    }
}

fn buffer_count(ranks: usize) -> usize {
    match ranks {
        2 => BUFFERS_FOR_ONE,
        _ => BUFFERS,
    }
}

/// The parts of the segment.
impl SegmentLayout {
    fn part(&self) -> usize {
        let peers = self.ranks - 1;
        let channels = peers * (self.slots_bytes() + size_of::<Answer>());
        (channels + self.buffer_count() * self.buffer).next_multiple_of(PAGE)
    }

    fn slots_bytes(&self) -> usize {
        self.slots * size_of::<Slot>()
    }

    /// What belongs to a rank.
    pub(crate) fn part_of(&self, rank: usize) -> Range<usize> {
        let start = rank * self.part();
        start..start + self.part()
    }

    pub(crate) fn slot_count(&self) -> usize {
        self.slots
    }

    pub(crate) fn buffer_count(&self) -> usize {
        buffer_count(self.ranks)
    }

    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer
    }

    /// Where the buffers lie that a rank sends in.
    pub(crate) fn buffers_of(&self, rank: usize) -> Range<usize> {
        let channels = (self.ranks - 1) * (self.slots_bytes() + size_of::<Answer>());
        let start = self.part_of(rank).start + channels;
        start..start + self.buffer_count() * self.buffer
    }

    /// Where the channel from one rank to another lies: its slots and its answer.
    pub(crate) fn channel(&self, from: usize, to: usize) -> [Range<usize>; 2] {
        assert!(from != to && from.max(to) < self.ranks);
        let peers = self.ranks - 1;
        // A rank's part has no place for itself.
        let index = from - usize::from(from > to);
        let range = |before: usize, bytes: usize| {
            let start = self.part_of(to).start + peers * before + index * bytes;
            start..start + bytes
        };
        [
            range(0, self.slots_bytes()),
            range(self.slots_bytes(), size_of::<Answer>()),
        ]
    }
}

const _: () = assert!(LEAST_BUFFER > INLINE && BUFFERS_FOR_ONE > 0);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests panic")]
mod tests {
    use super::*;

    /// Channels lie in the parts of their ranks and nothing overlaps.
    fn check(ranks: usize, limit: usize) {
        let layout = SegmentLayout::within(ranks, limit).unwrap();
        assert!(layout.bytes() <= limit, "{layout:?}");
        let mut used = Vec::new();
        for rank in 0..ranks {
            let part = layout.part_of(rank);
            let mut owned = vec![layout.buffers_of(rank)];
            for from in (0..ranks).filter(|&from| from != rank) {
                let [slots, answer] = layout.channel(from, rank);
                assert_eq!(slots.len(), layout.slots * size_of::<Slot>());
                owned.extend([slots, answer]);
            }
            for range in &owned {
                assert!(part.start <= range.start && range.end <= part.end);
                assert_eq!(range.start % size_of::<Slot>(), 0);
            }
            used.extend(owned);
        }
        used.sort_by_key(|range| range.start);
        for pair in used.windows(2) {
            assert!(pair[0].end <= pair[1].start, "{layout:?}: {pair:?}");
        }
    }

    #[test]
    fn channels_do_not_overlap() {
        for ranks in [2, 3, 4, 7, 16, 64, 128] {
            for limit in [64 << 20, 1 << 30] {
                check(ranks, limit);
            }
        }
        check(2, 32 << 10);
        check(5, 256 << 10);
    }

    #[test]
    fn two_ranks_get_the_largest_channels() {
        let layout = SegmentLayout::within(2, 64 << 20).unwrap();
        assert_eq!((layout.slots, layout.buffer), (SLOTS, BUFFER));
        assert!(layout.bytes() < 1 << 20);
    }

    /// What a communicator may use unless more is allowed.
    #[test]
    fn many_ranks_get_buffers_that_are_worth_having() {
        for (ranks, least) in [(8, BUFFER), (24, BUFFER), (32, 44 << 10), (64, 20 << 10)] {
            let layout = SegmentLayout::within(ranks, 16 << 20).unwrap();
            assert!(layout.buffer >= least, "{layout:?}");
        }
        assert!(SegmentLayout::within(128, 16 << 20).unwrap().buffer >= 5 << 10);
    }

    #[test]
    fn too_little_is_not_enough() {
        for (ranks, limit) in [
            (0, 1 << 20),
            (1, 1 << 20),
            (2, 0),
            (2, 8 << 10),
            (128, 8 << 20),
            (usize::MAX, usize::MAX),
        ] {
            assert_eq!(
                SegmentLayout::within(ranks, limit),
                None,
                "{ranks} in {limit}"
            );
        }
    }
}
