//! The layout of a node's channels in their segment.
//!
//! A rank's part holds the lines that the rank polls, the slots of its incoming channels, its acknowledgements, and the
//! buffers that it copies into.
//!
//! A channel has up to 32 slots of two cache lines, with up to 112 bytes of a message inside the slot. A rank has 16
//! buffers of up to 32 KiB for all others, at least 8 where memory is short. So pairs that send each other nothing use
//! only slots, and 64 ranks still have buffers of 20 KiB within 16 MiB.

use std::ops::Range;

use crate::caches::LINE;
use crate::packets::{Answer, INLINE, LEAST_BUFFER, Slot};
use crate::pool::BUFFERS;

/// Every rank's part starts at a page, so that the rank determines the NUMA domain of the memory.
const PAGE: usize = 4096;
/// The most slots of a channel. Half of them should last until a receiver that was briefly interrupted continues.
const SLOTS: usize = 32;
const LEAST_SLOTS: usize = 4;
/// The largest buffer in bytes. All buffers of a rank are as large as the second-level cache of an AMD EPYC of the
/// third generation, 512 KiB: streams of messages from 64 KiB on were 20 to 40 % faster there than with a half of that,
/// since writing a line takes longer while it is in the receiver's second-level cache.
pub(crate) const BUFFER: usize = 32 << 10;

/// The layout of a segment that the channels of some ranks share.
///
/// Each rank has its own part: the slots of its incoming channels and its answers, in the order of the other ranks,
/// then its send buffers. So pairs of ranks without messages need little memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLayout {
    ranks: usize,
    slots: usize,
    buffers: usize,
    /// The size of a buffer in bytes.
    buffer: usize,
}

impl SegmentLayout {
    /// The largest channels between all pairs of `ranks` ranks that fit into `limit` bytes; `None` if even the
    /// smallest do not fit, or if there are fewer than two ranks.
    pub fn within_limit(ranks: usize, limit: usize) -> Option<Self> {
        let peers = ranks.checked_sub(1).filter(|peers| *peers > 0)?;
        // One part, minus what its alignment may cost.
        let part = (limit / ranks).checked_sub(PAGE)?;
        let mut slots = SLOTS;
        // Channels are best for short messages, but slots must leave room for the buffers.
        while slots > LEAST_SLOTS && peers * slots * size_of::<Slot>() > part / 4 {
            slots /= 2;
        }
        let channel = slots * size_of::<Slot>() + size_of::<Answer>();
        let rest = part.checked_sub(peers * channel)?;
        // Where memory is short, there are fewer buffers, but at least half, before they become smaller.
        let buffers = (rest / BUFFER).clamp(BUFFERS / 2, BUFFERS);
        let buffer = (rest / buffers).min(BUFFER) / size_of::<Slot>() * size_of::<Slot>();
        (buffer >= LEAST_BUFFER).then_some(Self {
            ranks,
            slots,
            buffers,
            buffer,
        })
    }

    /// The ranks that share the segment.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The size of the segment in bytes.
    pub fn bytes(&self) -> usize {
        self.ranks * self.part_bytes()
    }

    /// The largest unit that is never split ([`crate::TransferProgress::new`]).
    pub fn largest_unit(&self) -> usize {
        match self.ranks {
            2 => self.buffer,
            // Pieces may have to be sent in slots.
            _ => INLINE,
        }
    }
}

/// The parts of the segment.
impl SegmentLayout {
    fn part_bytes(&self) -> usize {
        let peers = self.ranks - 1;
        let channels = peers * (self.slots_bytes() + size_of::<Answer>());
        (channels + self.buffers * self.buffer).next_multiple_of(PAGE)
    }

    fn slots_bytes(&self) -> usize {
        self.slots * size_of::<Slot>()
    }

    /// The part of a rank.
    pub(crate) fn part_of(&self, rank: usize) -> Range<usize> {
        let start = rank * self.part_bytes();
        start..start + self.part_bytes()
    }

    pub(crate) fn slot_count(&self) -> usize {
        self.slots
    }

    pub(crate) fn buffer_count(&self) -> usize {
        self.buffers
    }

    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer
    }

    /// The send buffers of a rank.
    pub(crate) fn buffers_of(&self, rank: usize) -> Range<usize> {
        let channels = (self.ranks - 1) * (self.slots_bytes() + size_of::<Answer>());
        let start = self.part_of(rank).start + channels;
        start..start + self.buffers * self.buffer
    }

    /// The channel from one rank to another: its slots and its answer.
    pub(crate) fn channel_ranges(&self, from: usize, to: usize) -> [Range<usize>; 2] {
        assert!(from != to && from.max(to) < self.ranks);
        let peers = self.ranks - 1;
        // A rank's part has no entry for the rank itself.
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

const _: () = assert!(LEAST_BUFFER > INLINE && size_of::<Slot>() == 2 * LINE);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests panic")]
mod tests {
    use super::*;

    /// Channels lie in the parts of their ranks and nothing overlaps.
    fn check(ranks: usize, limit: usize) {
        let layout = SegmentLayout::within_limit(ranks, limit).unwrap();
        assert!(layout.bytes() <= limit, "{layout:?}");
        let mut used = Vec::new();
        for rank in 0..ranks {
            let part = layout.part_of(rank);
            let mut owned = vec![layout.buffers_of(rank)];
            for from in (0..ranks).filter(|&from| from != rank) {
                let [slots, answer] = layout.channel_ranges(from, rank);
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
        let layout = SegmentLayout::within_limit(2, 64 << 20).unwrap();
        assert_eq!((layout.slots, layout.buffer), (SLOTS, BUFFER));
        assert!(layout.bytes() < 2 << 20);
    }

    /// Many ranks get useful buffers within the default limit on a communicator's memory.
    #[test]
    fn many_ranks_get_buffers_of_a_useful_size() {
        for (ranks, least) in [(8, BUFFER), (24, BUFFER), (32, BUFFER), (64, 20 << 10)] {
            let layout = SegmentLayout::within_limit(ranks, 16 << 20).unwrap();
            assert!(layout.buffer >= least, "{layout:?}");
        }
        assert!(SegmentLayout::within_limit(128, 16 << 20).unwrap().buffer >= 5 << 10);
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
                SegmentLayout::within_limit(ranks, limit),
                None,
                "{ranks} in {limit}"
            );
        }
    }
}
