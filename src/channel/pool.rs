//! The chunks in which a rank sends what does not fit into a slot.
//!
//! A rank has a few chunks for all ranks that it sends to. Data that goes to several of them is copied into a chunk
//! once, and all of them read it there; while it stands there it is *staged*. A chunk
//! is free when all packets that led to it have been taken. Only the sender keeps these books, in its own memory.
//!
//! A receiver that does not come keeps some chunks. It must not keep all of them, for the others may have to get their
//! messages before it comes: it gets another only as long as it has fewer than are free.

use std::ptr::NonNull;

/// Chunks that a rank has at most.
pub(crate) const CHUNKS: usize = 8;

/// Where a rank's chunks lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    pub(crate) memory: NonNull<u8>,
    /// At most [`CHUNKS`].
    pub(crate) count: usize,
    /// At least [`crate::link::LEAST_CHUNK`].
    pub(crate) bytes: usize,
}

impl Chunks {
    /// Where a chunk begins; `None` if there is no such chunk.
    pub(crate) fn at(&self, index: usize) -> Option<NonNull<u8>> {
        // SAFETY: one of `count` chunks.
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

/// A chunk that a piece may be sent in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) index: usize,
    pub(crate) memory: NonNull<u8>,
    /// Whether the piece stands there already.
    pub(crate) is_staged: bool,
}

/// A rank's own chunks.
#[derive(Debug)]
pub(crate) struct Pool {
    chunks: Chunks,
    /// What stands in each, and how many packets that lead to it are not known to have been taken.
    pieces: [(Piece, u32); CHUNKS],
    free: usize,
    /// Where to look for a free one first.
    next: usize,
    has_one_receiver: bool,
}

impl Pool {
    pub(crate) fn new(chunks: Chunks, has_one_receiver: bool) -> Self {
        Self {
            chunks,
            pieces: [(Piece::default(), 0); CHUNKS],
            free: chunks.count,
            next: 0,
            has_one_receiver,
        }
    }

    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunks.bytes
    }

    /// Whether other receivers may have chunks that are not known to be free.
    pub(crate) fn lacks_some(&self) -> bool {
        !self.has_one_receiver && self.free < self.chunks.count
    }

    /// A chunk for a piece to a receiver that has `held` chunks still to read.
    pub(crate) fn find(&self, piece: &Piece, held: usize) -> Option<Found> {
        if held >= self.chunks.count {
            return None;
        }
        let found = |index: usize, is_staged| {
            let memory = self.chunks.at(index)?;
            Some(Found {
                index,
                memory,
                is_staged,
            })
        };
        let pieces = &self.pieces[..self.chunks.count];
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

    /// Notes that a packet leads to a chunk, in which the piece stands now.
    pub(crate) fn lend(&mut self, index: usize, piece: Piece) {
        let (staged, readers) = &mut self.pieces[index];
        if *readers == 0 {
            self.free -= 1;
            self.next = (index + 1) % self.chunks.count;
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
