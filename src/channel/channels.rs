//! One rank's ends of the channels to all other ranks of its node.

use std::ops::Range;

use crate::link::{CHUNKS, Link, Memory, Mismatch};
use crate::{Layout, Progress, Segment, SegmentError};

/// One rank's ends of the channels to and from all other ranks of its node.
///
/// No call blocks: `send` and `receive` transfer as much of a message as is possible at once. The caller repeats
/// them until they return true, and may do other work in between. Messages from one rank to another arrive in the
/// order in which they are sent; a message begins when the one before it has ended. No call allocates.
#[derive(Debug)]
pub struct Channels {
    /// None is this rank's own.
    links: Box<[Option<Link>]>,
    layout: Layout,
    segment: Segment,
}

// SAFETY: the links lead into the segment, which is memory of the process, not of a thread.
unsafe impl Send for Channels {}

impl Channels {
    /// The channels of `rank` in a segment that this rank has created or opened, and reserves the rank's
    /// part of the memory.
    ///
    /// # Errors
    /// [`SegmentError::Reserve`]. No rank may send before all of them have their channels.
    ///
    /// # Panics
    /// If there is no such rank, or the segment is not as long as the layout says.
    pub fn new(segment: Segment, layout: Layout, rank: usize) -> Result<Self, SegmentError> {
        let (start, bytes) = segment.memory();
        assert!(rank < layout.ranks() && bytes >= layout.bytes());
        segment.reserve(layout.part_of(rank))?;
        let memory = |from, to| {
            let [slots, answer, ring] = layout.channel(from, to);
            // SAFETY: the layout's channels lie inside its bytes, which the segment has.
            let at = |range: Range<usize>| unsafe { start.add(range.start) };
            Memory {
                slots: at(slots).cast(),
                slot_count: layout.slot_count() as u32,
                answer: at(answer).cast(),
                ring: at(ring),
                chunk_count: CHUNKS,
                chunk_bytes: layout.chunk_bytes(),
            }
        };
        let link = |peer| {
            // SAFETY: channels lie apart from each other, aligned to slots, in memory that was created as
            // zeros and is kept by the value that keeps the link; a rank's two ends are in its own link.
            (peer != rank).then(|| unsafe { Link::new(memory(rank, peer), memory(peer, rank)) })
        };
        let links = (0..layout.ranks()).map(link).collect();
        Ok(Self {
            links,
            layout,
            segment,
        })
    }

    /// The ranks of the node.
    pub fn ranks(&self) -> usize {
        self.links.len()
    }

    /// How the memory is used.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Closes the segment's file on this rank, which is needed only until all have opened it.
    pub fn close_file(&mut self) {
        self.segment.close_file();
    }

    /// Sends as much of a message as there is room for, and tells whether that is all of it: then the caller's
    /// memory is no longer needed. `fill(offset, piece)` writes the bytes of the message from `offset` on.
    /// Pieces follow one another, begin at a multiple of 16 bytes in memory and consist of whole units, if
    /// these are no longer than [`Layout::largest_unit`].
    ///
    /// # Panics
    /// If there is no such rank, or it is this one.
    #[inline]
    pub fn send(
        &mut self,
        to: usize,
        message: &mut Progress,
        fill: impl FnMut(usize, &mut [u8]),
    ) -> bool {
        self.link(to).send(message, fill)
    }

    /// Receives as much of a message as has come, and tells whether that is all of it. `take(offset, piece)`
    /// copies, or combines, the bytes of the message from `offset` on. Pieces are as the sender has cut them.
    ///
    /// # Errors
    /// If the message has not the length that is expected. The channels must not be used again.
    ///
    /// # Panics
    /// If there is no such rank, or it is this one.
    #[inline]
    pub fn receive(
        &mut self,
        from: usize,
        message: &mut Progress,
        take: impl FnMut(usize, &[u8]),
    ) -> Result<bool, Mismatch> {
        self.link(from).receive(message, take)
    }

    #[inline]
    fn link(&mut self, peer: usize) -> &mut Link {
        match &mut self.links[peer] {
            Some(link) => link,
            None => panic!("a rank has no channel to itself"),
        }
    }
}
