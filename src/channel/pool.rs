//! The buffers in which a rank sends what does not fit into a slot.
//!
//! A rank has a few buffers for all ranks that it sends to. Data that goes to several of them is copied into a buffer
//! once, and all of them read it there; while it stands there it is *staged*. A buffer
//! is free when all packets that led to it have been taken. Only the sender keeps these books, in its own memory.
//!
//! A receiver that does not come keeps some buffers. It must not keep all of them, for the others may have to get their
//! messages before it comes: it gets another only as long as it has fewer than are free.

use std::ptr::NonNull;

/// Buffers that a rank has at most.
pub(crate) const BUFFERS: usize = 8;

/// Where a rank's buffers lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub(crate) memory: NonNull<u8>,
    /// At most [`BUFFERS`].
    pub(crate) count: usize,
    /// At least [`crate::link::LEAST_BUFFER`].
    pub(crate) bytes: usize,
}

impl Buffers {
    /// Where a buffer begins; `None` if there is no such buffer.
    pub(crate) fn at(&self, index: usize) -> Option<NonNull<u8>> {
        // SAFETY: one of `count` buffers.
        (index < self.count).then(|| unsafe { self.memory.add(index * self.bytes) })
    }
}

/// A piece of what some messages have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// What they have in common; 0 for a message that has nothing in common with others.
    pub(crate) stage: u64,
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

/// A buffer that a piece may be sent in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) index: usize,
    pub(crate) memory: NonNull<u8>,
    /// Whether the piece stands there already.
    pub(crate) is_staged: bool,
}

/// A rank's own buffers.
#[derive(Debug)]
pub(crate) struct Pool {
    buffers: Buffers,
    /// What stands in each, and how many packets that lead to it are not known to have been taken.
    pieces: [(Piece, u32); BUFFERS],
    free: usize,
    /// Where to look for a free one first.
    next: usize,
    has_one_receiver: bool,
}

impl Pool {
    pub(crate) fn new(buffers: Buffers, has_one_receiver: bool) -> Self {
        Self {
            buffers,
            pieces: [(Piece::default(), 0); BUFFERS],
            free: buffers.count,
            next: 0,
            has_one_receiver,
        }
    }

    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffers.bytes
    }

    /// Whether other receivers may have buffers that are not known to be free.
    pub(crate) fn lacks_some(&self) -> bool {
        !self.has_one_receiver && self.free < self.buffers.count
    }

    /// A buffer for a piece to a receiver that has `held` buffers still to read.
    pub(crate) fn find(&self, piece: &Piece, held: usize) -> Option<Found> {
        if held >= self.buffers.count {
            return None;
        }
        let found = |index: usize, is_staged| {
            let memory = self.buffers.at(index)?;
            Some(Found {
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

    /// Notes that a packet leads to a buffer, in which the piece stands now.
    pub(crate) fn lend(&mut self, index: usize, piece: Piece) {
        let (staged, readers) = &mut self.pieces[index];
        if *readers == 0 {
            self.free -= 1;
            self.next = (index + 1) % self.buffers.count;
        }
        *staged = piece;
        *readers += 1;
    }

    /// Notes that such a packet has been taken.
    pub(crate) fn give_back(&mut self, index: usize) {
        let (_, readers) = &mut self.pieces[index];
        *readers -= 1;
        self.free += usize::from(*readers == 0);
    }
}
