//! The packets of a channel, and what else two ranks share.

use std::ptr::NonNull;

use super::caches::LINE;
use super::offers::{KINDS, Offer, Timing};
use super::pool::Buffers;
use super::sync::{AtomicU32, AtomicU64, UnsafeCell};

/// The largest payload in a slot, in bytes.
pub(crate) const INLINE: usize = 112;
/// The bytes of a payload that are in its slot's first cache line. The second line has nothing else.
pub(crate) const IN_FIRST_LINE: usize = INLINE - LINE;
/// The smallest buffer, in bytes.
pub(crate) const LEAST_BUFFER: usize = 256;
/// The flag in a packet's length that marks the last packet of its message.
pub(crate) const LAST: u32 = 1 << 31;
/// The length in a packet that offers a message: longer than any buffer.
pub(crate) const OFFER: usize = 1 << 30;

/// A slot: two cache lines. Short payloads are in the first one.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Slot {
    pub(crate) number: AtomicU64,
    pub(crate) packet: UnsafeCell<Packet>,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Packet {
    pub(crate) length: u32,
    /// The number of packets that the sender of this one has taken from the opposite channel.
    pub(crate) taken: u32,
    /// The data; for a longer packet, an [`InBuffer`]; or an [`Offer`].
    pub(crate) payload: [u8; INLINE],
}

/// The payload of a packet whose data are in a buffer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct InBuffer {
    /// The number of the buffer.
    pub(crate) buffer: usize,
    pub(crate) timing: Timing,
}

const _: () =
    assert!(size_of::<Offer>() <= IN_FIRST_LINE && size_of::<InBuffer>() <= IN_FIRST_LINE);

/// What the receiver writes.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Answer {
    /// The number of packets that it has taken.
    pub(crate) taken: AtomicU32,
    /// The offset from which on it could not read the last message that was offered, plus one; 0 if it has read it all.
    pub(crate) unread: AtomicU64,
    /// Its times for each kind of long messages.
    pub(crate) times: [AtomicU64; KINDS],
}

/// The memory of a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) slots: NonNull<Slot>,
    /// A power of two, at least 2.
    pub(crate) slot_count: u32,
    pub(crate) answer: NonNull<Answer>,
    /// The sender's buffers.
    pub(crate) buffers: Buffers,
}

impl Memory {
    #[inline]
    pub(crate) fn slot(&self, index: u64) -> &Slot {
        let index = index & u64::from(self.slot_count - 1);
        // SAFETY: one of `slot_count` slots, which live as long as the link, as `Link::new` requires.
        unsafe { self.slots.add(index as usize).as_ref() }
    }

    pub(crate) fn answer(&self) -> &Answer {
        // SAFETY: lives as long as the link.
        unsafe { self.answer.as_ref() }
    }
}
