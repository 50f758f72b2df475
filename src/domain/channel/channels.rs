//! One rank's ends of the channels to all other ranks of its node.

use std::ops::Range;

use crate::layout::BUFFER;
use crate::link::{Link, Mismatch};
use crate::offers::{Nonce, RankProcess};
use crate::packets::Memory;
use crate::pool::{Buffers, Pool};
use crate::{SegmentError, SegmentLayout, SendBuffer, SharedSegment, TransferProgress};

/// One rank's ends of the channels to and from all other ranks of its node.
///
/// No call blocks: `send` and `receive` transfer as much of a message as is possible at once. The caller repeats
/// them until they return true, and may do other work in between. Messages from one rank to another arrive in the
/// order in which they are sent; a message begins when the one before it has ended. No call allocates.
#[derive(Debug)]
pub struct Channels {
    /// `None` at this rank's own index.
    links: Box<[Option<Link>]>,
    pool: Pool,
    /// The number of stages so far.
    stages: u64,
    /// The rank that was checked last when buffers were lacking.
    looked_at: usize,
    /// Memory for pieces that are read in another rank's memory to be combined.
    pieces: Box<[Piece]>,
    /// Read by the other ranks in this rank's memory.
    _nonce: Box<Nonce>,
    layout: SegmentLayout,
    segment: SharedSegment,
}

/// 16 bytes, aligned like the buffers.
type Piece = u128;

/// The size in bytes of the pieces that are read in another rank's memory to be combined: not less than that of a
/// buffer, since neither splits units.
const PIECE_BYTES: usize = 32 << 10;
const _: () = assert!(PIECE_BYTES >= BUFFER);

// SAFETY: the links lead into the segment, which is memory of the process, not of a thread.
unsafe impl Send for Channels {}

impl Channels {
    /// Makes the channels of `rank` in a segment that this rank has created or opened, and reserves the rank's part
    /// of the memory.
    ///
    /// # Errors
    /// [`SegmentError::Reserve`].
    ///
    /// # Panics
    /// If there is no such rank, or the segment is shorter than the layout.
    pub fn new(
        segment: SharedSegment,
        layout: SegmentLayout,
        rank: usize,
    ) -> Result<Self, SegmentError> {
        let (start, bytes) = segment.memory_range();
        assert!(rank < layout.ranks() && bytes >= layout.bytes());
        segment.reserve_part(layout.part_of(rank))?;
        // SAFETY: the layout's ranges are inside its bytes, which the segment has.
        let at = |range: Range<usize>| unsafe { start.add(range.start) };
        let buffers = |owner| Buffers {
            memory: at(layout.buffers_of(owner)),
            count: layout.buffer_count(),
            bytes: layout.buffer_bytes(),
        };
        let memory = |from, to| {
            let [slots, answer] = layout.channel_ranges(from, to);
            Memory {
                slots: at(slots).cast(),
                slot_count: layout.slot_count() as u32,
                answer: at(answer).cast(),
                buffers: buffers(from),
            }
        };
        // Different for each rank, as ranks in different containers may have the same number of a process.
        let nonce_of = |owner: usize| segment.nonce().wrapping_add(owner as Nonce);
        let nonce = Box::new(nonce_of(rank));
        let own = RankProcess {
            nonce_address: (&raw const *nonce).expose_provenance() as u64,
            process: std::process::id(),
            _rest: 0,
        };
        let link = |peer| {
            // SAFETY: channels are disjoint, aligned to slots, and in memory that was created as zeros and lives as
            // long as the link's owner; a rank's two ends are in its own link.
            (peer != rank).then(|| unsafe {
                Link::new(memory(rank, peer), memory(peer, rank), own, nonce_of(peer))
            })
        };
        let links = (0..layout.ranks()).map(link).collect();
        Ok(Self {
            links,
            pool: Pool::new(buffers(rank), layout.ranks() == 2),
            stages: 0,
            looked_at: rank,
            pieces: vec![0; PIECE_BYTES / size_of::<Piece>()].into(),
            _nonce: nonce,
            layout,
            segment,
        })
    }

    /// The number of ranks of the node.
    pub fn ranks(&self) -> usize {
        self.links.len()
    }

    /// The layout of the memory.
    pub fn layout(&self) -> SegmentLayout {
        self.layout
    }

    /// Closes the segment's file on this rank. The file is needed only until all ranks have opened it.
    pub fn close_file(&mut self) {
        self.segment.close_file();
    }

    /// A stage for messages that start now and have the same data, such as one message to several ranks. The data are
    /// written to shared memory only once, if possible.
    #[inline]
    pub fn begin_stage(&mut self) -> u64 {
        self.stages += 1;
        self.stages
    }

    /// Sends as much of a message as there is room for. Returns whether that completes the message, and the caller's
    /// memory is no longer needed. `fill(offset, piece)` writes the bytes of the message from `offset` on. Pieces are
    /// consecutive, start at a multiple of 16 bytes in memory, and consist of whole units if these are not longer
    /// than [`SegmentLayout::largest_unit`]. `fill` is not called for pieces that another message of the stage has
    /// written. [`SendBuffer`] says how to write a piece.
    ///
    /// # Panics
    /// If there is no such rank, or it is this one.
    #[inline]
    pub fn send(
        &mut self,
        to: usize,
        message: &mut TransferProgress,
        fill: impl FnMut(usize, &mut SendBuffer<'_>),
    ) -> bool {
        let Some(link) = &mut self.links[to] else {
            none_to_itself()
        };
        let is_over = link.send(&mut self.pool, message, fill);
        if !is_over && self.pool.lacks_some() {
            self.look_for_taken_buffers();
        }
        is_over
    }

    /// The channels to and from one other rank.
    ///
    /// # Panics
    /// If there is no such rank, or it is this one.
    #[inline(always)]
    pub fn peer(&mut self, rank: usize) -> Peer<'_> {
        Peer(self.link_to(rank))
    }

    #[inline(always)]
    fn link_to(&mut self, rank: usize) -> &mut Link {
        match &mut self.links[rank] {
            Some(link) => link,
            None => none_to_itself(),
        }
    }

    /// Checks whether one more of the ranks has taken buffers sent to it. Buffers of completed messages are not
    /// checked otherwise.
    #[cold]
    fn look_for_taken_buffers(&mut self) {
        self.looked_at = (self.looked_at + 1) % self.links.len();
        if let Some(link) = &mut self.links[self.looked_at] {
            link.free_taken_buffers(&mut self.pool);
        }
    }

    /// Receives as much of a message as has arrived. Returns whether that completes the message. `take(offset,
    /// piece)` copies, or combines, the bytes of the message from `offset` on. The pieces are as in [`Self::send`], but
    /// `take` is not called for data that are stored directly ([`TransferProgress::writable_at`]). A call reads at most
    /// 256 KiB in the sender's memory.
    ///
    /// # Errors
    /// If the message does not have the expected length. The channels must then not be used again.
    ///
    /// # Panics
    /// If there is no such rank, or it is this one.
    #[inline]
    pub fn receive(
        &mut self,
        from: usize,
        message: &mut TransferProgress,
        take: impl FnMut(usize, &[u8]),
    ) -> Result<bool, Mismatch> {
        let Some(link) = &mut self.links[from] else {
            none_to_itself()
        };
        let pieces = self.pieces.as_mut_ptr().cast();
        // SAFETY: the same memory as bytes, borrowed for the call.
        let pieces = unsafe { std::slice::from_raw_parts_mut(pieces, PIECE_BYTES) };
        link.receive(pieces, message, take)
    }
}

/// This rank's ends of the channels to and from one other rank, for messages that fit into one packet
/// ([`crate::MessageSize::is_packet`]). Hides the link, which must not move to other channels.
#[derive(Debug)]
pub struct Peer<'a>(&'a mut Link);

impl Peer<'_> {
    /// Sends a message, if there is room for it. `fill` writes its bytes.
    ///
    /// # Panics
    /// If it is longer than one packet.
    #[inline(always)]
    pub fn send_packet(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.0.send_packet(length, true, fill)
    }

    /// Receives a message, if it has arrived. `take` copies, or combines, its bytes.
    ///
    /// # Errors
    /// If the message does not have the expected length, or `take` fails. The channels must then not be used again.
    #[inline(always)]
    pub fn receive_packet<E: From<Mismatch>>(
        &mut self,
        expected: usize,
        take: impl FnOnce(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        self.0.receive_packet(expected, take)
    }
}

#[cold]
fn none_to_itself() -> ! {
    panic!("a rank has no channel to itself")
}
