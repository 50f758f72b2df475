//! How far a message has come.

use super::link::INLINE;

/// How far a message has come at one of its ends.
#[derive(Clone, Copy, Debug)]
pub struct TransferProgress {
    length: usize,
    unit: usize,
    stage: u64,
    done: usize,
    is_over: bool,
}

impl TransferProgress {
    /// A message of `length` bytes of which nothing has been moved. `unit` is the size of what must stay
    /// together, such as an element that is combined, or 1; `length` is a multiple of it.
    #[inline]
    pub fn new(length: usize, unit: usize) -> Self {
        debug_assert!(unit > 0 && length.is_multiple_of(unit));
        Self {
            length,
            unit,
            stage: 0,
            done: 0,
            is_over: false,
        }
    }

    /// The same for a message that has its data in common with all others of a stage ([`crate::Channels::stage`]).
    #[inline]
    pub fn of_stage(self, stage: u64) -> Self {
        Self { stage, ..self }
    }

    /// Whether the message is sent in one packet, without a buffer ([`crate::Channels::send_packet`]).
    #[inline]
    pub fn is_packet(&self) -> bool {
        self.length <= INLINE
    }

    /// Whether all of the message has been moved. An empty message has to be moved, too.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The bytes that have been moved.
    #[inline]
    pub fn done(&self) -> usize {
        self.done
    }

    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.length - self.done
    }

    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    #[inline]
    pub(crate) fn unit(&self) -> usize {
        self.unit
    }

    #[inline]
    pub(crate) fn stage(&self) -> u64 {
        self.stage
    }

    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.done += bytes;
        self.is_over = self.done == self.length;
    }
}
