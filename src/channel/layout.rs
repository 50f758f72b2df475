//! Where the channels of a node lie in their segment.

use std::ops::Range;

use crate::link::{Answer, CHUNKS, INLINE, LEAST_CHUNK, Slot};

/// Every rank's part begins at a page, so that the rank decides in which memory it lies.
const PAGE: usize = 4096;
/// Slots that a channel has at most. Half of them should last until a receiver that was interrupted for a
/// moment reads on.
const SLOTS: usize = 32;
const LEAST_SLOTS: usize = 4;
/// Bytes of a chunk at most: a ring stays in a core's second cache. Chunks of half the length, twice as many,
/// take a tenth longer where cores are far from each other.
const CHUNK: usize = 64 << 10;

/// How the channels of some ranks share a segment.
///
/// Each rank has a part of its own: the slots of its incoming channels, its answers, the rings of its outgoing
/// channels, in the order of the other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    ranks: usize,
    slots: usize,
    chunk: usize,
}

impl Layout {
    /// The largest channels of all pairs of `ranks` ranks that fit into `limit` bytes: none if that is not
    /// enough for any, or if there are less than two ranks.
    pub fn within(ranks: usize, limit: usize) -> Option<Self> {
        let pairs = ranks.checked_mul(ranks.checked_sub(1)?)?;
        // What the parts may lose to their alignment.
        let each = limit
            .checked_sub(ranks.checked_mul(PAGE)?)?
            .checked_div(pairs)?;
        let mut slots = SLOTS;
        // Short messages are what channels are best at, but slots are not to crowd out the rings.
        while slots > LEAST_SLOTS && slots * size_of::<Slot>() > each / 4 {
            slots /= 2;
        }
        let rest = each.checked_sub(slots * size_of::<Slot>() + size_of::<Answer>())?;
        let chunk = (rest / CHUNKS).min(CHUNK) / size_of::<Slot>() * size_of::<Slot>();
        (chunk >= LEAST_CHUNK).then_some(Self {
            ranks,
            slots,
            chunk,
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

    /// The largest unit that is never split ([`crate::Progress::new`]).
    pub fn largest_unit(&self) -> usize {
        self.chunk
    }
}

/// The parts of the segment.
impl Layout {
    fn part(&self) -> usize {
        let peers = self.ranks - 1;
        (peers * (self.slots_bytes() + size_of::<Answer>() + self.ring_bytes()))
            .next_multiple_of(PAGE)
    }

    fn slots_bytes(&self) -> usize {
        self.slots * size_of::<Slot>()
    }

    fn ring_bytes(&self) -> usize {
        CHUNKS * self.chunk
    }

    /// What belongs to a rank.
    pub(crate) fn part_of(&self, rank: usize) -> Range<usize> {
        let start = rank * self.part();
        start..start + self.part()
    }

    pub(crate) fn slot_count(&self) -> usize {
        self.slots
    }

    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk
    }

    /// Where the channel from one rank to another lies: its slots, its answer and its ring.
    pub(crate) fn channel(&self, from: usize, to: usize) -> [Range<usize>; 3] {
        assert!(from != to && from.max(to) < self.ranks);
        let peers = self.ranks - 1;
        // A rank's part has no place for itself.
        let [at_receiver, at_sender] = [(from, to), (to, from)].map(|(other, owner)| {
            let index = other - usize::from(other > owner);
            (owner * self.part(), index)
        });
        let range = |(start, index): (usize, usize), before: usize, bytes: usize| {
            let start = start + peers * before + index * bytes;
            start..start + bytes
        };
        let answers = self.slots_bytes();
        let rings = answers + size_of::<Answer>();
        [
            range(at_receiver, 0, self.slots_bytes()),
            range(at_receiver, answers, size_of::<Answer>()),
            range(at_sender, rings, self.ring_bytes()),
        ]
    }
}

const _: () = assert!(LEAST_CHUNK > 2 * INLINE);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests panic")]
mod tests {
    use super::*;

    /// Channels lie in the parts of their ranks and nothing overlaps.
    fn check(ranks: usize, limit: usize) {
        let layout = Layout::within(ranks, limit).unwrap();
        assert!(layout.bytes() <= limit, "{layout:?}");
        let mut used = Vec::new();
        for from in 0..ranks {
            for to in (0..ranks).filter(|&to| to != from) {
                let [slots, answer, ring] = layout.channel(from, to);
                for (range, owner) in [(&slots, to), (&answer, to), (&ring, from)] {
                    let part = layout.part_of(owner);
                    assert!(part.start <= range.start && range.end <= part.end);
                    assert_eq!(range.start % size_of::<Slot>(), 0);
                }
                assert_eq!(slots.len(), layout.slots * size_of::<Slot>());
                used.extend([slots, answer, ring]);
            }
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
        let layout = Layout::within(2, 64 << 20).unwrap();
        assert_eq!((layout.slots, layout.chunk), (SLOTS, CHUNK));
        assert!(layout.bytes() < 1 << 20);
    }

    #[test]
    fn too_little_is_not_enough() {
        for (ranks, limit) in [
            (0, 1 << 20),
            (1, 1 << 20),
            (2, 0),
            (2, 8 << 10),
            (128, 16 << 20),
            (usize::MAX, usize::MAX),
        ] {
            assert_eq!(Layout::within(ranks, limit), None, "{ranks} in {limit}");
        }
    }
}
