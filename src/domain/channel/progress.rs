//! Messages and their progress.

use super::offers::{Method, Timing, message_kind, now_nanoseconds};
use super::packets::INLINE;
use super::sync::LEAST_OFFERED;

/// The size of a message in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MessageSize {
    length: usize,
    unit: usize,
}

impl MessageSize {
    /// A message of `length` bytes. `unit` is the number of bytes that must not be split, such as those of an element
    /// to be combined, or 1; `length` is a multiple of it.
    #[inline]
    pub fn new(length: usize, unit: usize) -> Self {
        debug_assert!(unit > 0 && length.is_multiple_of(unit));
        Self { length, unit }
    }

    /// The number of bytes.
    #[inline]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Whether the message is sent as one packet without a buffer ([`crate::Peer::send_packet`]).
    #[inline]
    pub fn is_packet(&self) -> bool {
        self.length <= INLINE
    }

    /// Whether the message is so long that its receiver may read it in the sender's memory.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.length >= LEAST_OFFERED
    }
}

/// The progress of a message at one of its ends.
#[derive(Clone, Copy, Debug)]
pub struct TransferProgress {
    size: MessageSize,
    stage: u64,
    done: usize,
    is_over: bool,
    is_exchange: bool,
    /// The address of the whole message at its sender, or at its receiver; 0 if it is not in one piece.
    address: usize,
    /// The time at which this rank began with a long message; 0 if it has not said so.
    begin: u64,
    method: Method,
}

impl TransferProgress {
    /// A message that has not been started ([`MessageSize::new`]).
    #[inline]
    pub fn new(length: usize, unit: usize) -> Self {
        Self::of_size(MessageSize::new(length, unit))
    }

    /// A message that has not been started.
    #[inline]
    pub fn of_size(size: MessageSize) -> Self {
        Self {
            size,
            stage: 0,
            done: 0,
            is_over: false,
            is_exchange: false,
            address: 0,
            begin: 0,
            method: Method::Undecided,
        }
    }

    /// The same for a message that starts now: the receiver measures the time of long messages from when both ranks
    /// have started.
    #[inline]
    pub fn starting_now(self) -> Self {
        if self.size.is_long() {
            Self {
                begin: now_nanoseconds(),
                ..self
            }
        } else {
            self
        }
    }

    /// The same for a message to be sent whose bytes are in one piece of memory. The receiver may read them there until
    /// [`crate::Channels::send`] returns true. `is_exchange` says whether the sender receives other messages at the
    /// same time.
    #[inline]
    pub fn readable_at(self, address: *const u8, is_exchange: bool) -> Self {
        if self.size.is_long() {
            Self {
                address: address.expose_provenance(),
                is_exchange,
                ..self
            }
        } else {
            self
        }
    }

    /// The same for a message to be received whose bytes are only to be stored, in one piece of memory. Then
    /// [`crate::Channels::receive`] may store them there itself.
    ///
    /// # Safety
    ///
    /// The memory is writable, and no one else accesses it, until `receive` returns true or an error for this value or
    /// a copy of it; no copy is used afterwards.
    #[inline]
    pub unsafe fn writable_at(self, address: *mut u8) -> Self {
        self.readable_at(address, false)
    }

    /// The same for a message that shares its data with all others of a stage ([`crate::Channels::begin_stage`]).
    #[inline]
    pub fn of_stage(self, stage: u64) -> Self {
        Self { stage, ..self }
    }

    /// Whether the message is complete. An empty message must be moved, too.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The number of bytes moved so far.
    #[inline]
    pub fn bytes_done(&self) -> usize {
        self.done
    }

    #[inline]
    pub(crate) fn bytes_left(&self) -> usize {
        self.length() - self.done
    }

    /// The number of bytes of the whole message.
    #[inline]
    pub fn length(&self) -> usize {
        self.size.length
    }

    #[inline]
    pub(crate) fn unit(&self) -> usize {
        self.size.unit
    }

    #[inline]
    pub(crate) fn stage(&self) -> u64 {
        self.stage
    }

    #[inline]
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    pub(crate) fn kind(&self) -> usize {
        message_kind(self.length(), self.is_exchange)
    }

    #[inline]
    pub(crate) fn begin_nanoseconds(&self) -> u64 {
        self.begin
    }

    /// What the receiver needs to measure the time, if the method is to be timed.
    #[inline]
    pub(crate) fn timing(&self) -> Timing {
        match self.method {
            Method::Buffers { is_timed: true } | Method::Reading { is_timed: true } => Timing {
                begin: self.begin,
                mark: self.kind() as u64 + 1,
            },
            _ => Timing::default(),
        }
    }

    #[inline]
    pub(crate) fn method(&self) -> Method {
        self.method
    }

    #[inline]
    pub(crate) fn set_method(&mut self, method: Method) {
        self.method = method;
    }

    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.done += bytes;
        self.is_over = self.done == self.length();
    }
}
