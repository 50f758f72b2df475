//! The send buffers of a rank, for data that do not fit into a slot.
//!
//! A rank has a few buffers for all ranks that it sends to. Data for several of them are copied into a buffer once and
//! read there by all, whenever their packets are sent; while they are there, they are *staged*. A buffer is free when
//! all packets that refer to it have been taken. Only the sender keeps track of this, in its own memory.
//!
//! A receiver that does not read keeps some buffers. It must not keep all of them, because other ranks may need their
//! messages before it can read. So it gets another buffer only while it has fewer than are free: a late receiver keeps
//! at most half of the buffers, and the other receivers of staged data proceed independently of it.

use std::ptr::NonNull;

/// The most buffers of a rank.
pub(crate) const BUFFERS: usize = 16;

/// The location of a rank's buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub(crate) memory: NonNull<u8>,
    /// At most [`BUFFERS`].
    pub(crate) count: usize,
    /// At least [`crate::packets::LEAST_BUFFER`].
    pub(crate) bytes: usize,
}

impl Buffers {
    /// The address of a buffer; `None` if there is no such buffer.
    pub(crate) fn buffer_at(&self, index: usize) -> Option<NonNull<u8>> {
        // SAFETY: one of `count` buffers.
        (index < self.count).then(|| unsafe { self.memory.add(index * self.bytes) })
    }
}

/// A piece of data that several messages share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StagedPiece {
    /// The stage of the messages; 0 for a message that shares no data.
    pub(crate) stage: u64,
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

/// A buffer for a piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundBuffer {
    pub(crate) index: usize,
    pub(crate) memory: NonNull<u8>,
    /// Whether it already contains the piece.
    pub(crate) is_staged: bool,
}

/// A rank's own buffers.
#[derive(Debug)]
pub(crate) struct Pool {
    buffers: Buffers,
    /// The piece in each buffer, and the number of packets that refer to it and are not known to be taken.
    pieces: [(StagedPiece, u32); BUFFERS],
    free: usize,
    /// The buffer at which the search for a free one starts.
    next: usize,
    has_one_receiver: bool,
}

impl Pool {
    pub(crate) fn new(buffers: Buffers, has_one_receiver: bool) -> Self {
        Self {
            buffers,
            pieces: [(StagedPiece::default(), 0); BUFFERS],
            free: buffers.count,
            next: 0,
            has_one_receiver,
        }
    }

    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffers.bytes
    }

    /// Whether some buffers are not known to be free.
    pub(crate) fn lacks_some(&self) -> bool {
        !self.has_one_receiver && self.free < self.buffers.count
    }

    /// Finds a buffer for a piece to a receiver that still has `held` buffers to read.
    pub(crate) fn find_buffer(&self, piece: &StagedPiece, held: usize) -> Option<FoundBuffer> {
        if held >= self.buffers.count {
            return None;
        }
        let found = |index: usize, is_staged| {
            let memory = self.buffers.buffer_at(index)?;
            Some(FoundBuffer {
                index,
                memory,
                is_staged,
            })
        };
        let pieces = &self.pieces[..self.buffers.count];
        if piece.stage > 0
            && (self.has_one_receiver || held <= self.free)
            && let Some(index) = pieces.iter().position(|(staged, _)| staged == piece)
        {
            return found(index, true);
        }
        if !self.has_one_receiver && held >= self.free {
            return None;
        }
        let mut indices = (self.next..pieces.len()).chain(0..self.next);
        found(indices.find(|index| pieces[*index].1 == 0)?, false)
    }

    /// Records that a packet refers to a buffer, which contains the piece.
    pub(crate) fn lend_buffer(&mut self, index: usize, piece: StagedPiece) {
        let (staged, readers) = &mut self.pieces[index];
        if *readers == 0 {
            self.free -= 1;
            self.next = (index + 1) % self.buffers.count;
        }
        *staged = piece;
        *readers += 1;
    }

    /// Records that such a packet has been taken.
    pub(crate) fn return_buffer(&mut self, index: usize) {
        let (_, readers) = &mut self.pieces[index];
        *readers -= 1;
        self.free += usize::from(*readers == 0);
    }
}
