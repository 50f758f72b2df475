//! The progress of a message.

use super::link::INLINE;

/// The progress of a message at one of its ends.
#[derive(Clone, Copy, Debug)]
pub struct TransferProgress {
    length: usize,
    unit: usize,
    stage: u64,
    done: usize,
    is_over: bool,
}

impl TransferProgress {
    /// A message of `length` bytes that has not been started. `unit` is the number of bytes that must not be split,
    /// such as those of an element to be combined, or 1; `length` is a multiple of it.
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

    /// The same for a message that shares its data with all others of a stage ([`crate::Channels::stage`]).
    #[inline]
    pub fn of_stage(self, stage: u64) -> Self {
        Self { stage, ..self }
    }

    /// Whether the message is sent as one packet without a buffer ([`crate::Peer::send_packet`]).
    #[inline]
    pub fn is_packet(&self) -> bool {
        self.length <= INLINE
    }

    /// Whether the message is complete. An empty message must be moved, too.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The number of bytes moved so far.
    #[inline]
    pub fn done(&self) -> usize {
        self.done
    }

    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.length - self.done
    }

    /// The number of bytes of the whole message.
    #[inline]
    pub fn length(&self) -> usize {
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
