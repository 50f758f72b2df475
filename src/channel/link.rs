//! The protocol: two channels, one in each direction, between this rank and one other.
//!
//! A message is cut into *packets*, which are numbered from 1 and taken in order. Packet `n` of a channel
//! stands in slot `n - 1` modulo the number of slots; what does not fit beside its head stands in one of the
//! sender's buffers, which the packet names, and which packets to other ranks may name as well (`pool.rs`). What is
//! shared has one writer each:
//!
//! | what | written by | read by |
//! |---|---|---|
//! | a slot's packet | the sender, while the slot is free | the receiver, once it has seen the number |
//! | a buffer | the sender, while no packet that names it is under way | the receivers of such packets, once they have seen the number |
//! | a slot's number | the sender: *released* after the packet and the buffer have been written | the receiver: *acquired* before it reads them |
//! | the answer, how many packets have been taken | the receiver: *released* after it has read them | the sender: *acquired* before it writes to what they stood in |
//!
//! A packet also carries what its sender has taken of the opposite channel, an answer that costs no line of
//! its own: ranks that exchange short messages move nothing but the packets. That does not replace the
//! answer's own line: a sender that waits for it may not be reading its opposite channel. The line is
//! written after each buffer, and after packets without one whenever half of the slots have not been told, so
//! that it is never so old that a sender waits in vain.
//!
//! A message whose receiver has nothing to read, while all buffers wait for other ranks, goes on in slots alone:
//! the others may not come before that message has arrived.
//!
//! No offset follows from what stands in shared memory: both ends count packets by themselves. A packet's length is
//! compared with what is expected and with the buffer's size, its buffer with the number of buffers; an answer counts
//! only if it lies between the packets that were known to be taken and those that were sent.

use std::ptr::NonNull;

use super::pool::{BUFFERS, Buffers, Found, Piece, Pool};
use super::progress::TransferProgress;
use super::sync::{AtomicU32, AtomicU64, Ordering, PATIENCE, SENT_BEFORE, UnsafeCell};

/// What fits into a packet's slot.
pub(crate) const INLINE: usize = 112;
/// Bytes that a buffer has at least.
pub(crate) const LEAST_BUFFER: usize = 256;
/// Set in a packet's length: the message ends with it.
const LAST: u32 = 1 << 31;

/// Two cache lines, which processors like to fetch together. Short payloads stand in the first.
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
    /// The packets of the opposite channel that the sender of this one has taken.
    pub(crate) taken: u32,
    /// The data, or for a longer packet the number of its buffer in the first byte.
    pub(crate) payload: [u8; INLINE],
}

/// The packets that the receiver has taken.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Answer(pub(crate) AtomicU32);

/// Where a channel lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) slots: NonNull<Slot>,
    /// A power of two, at least 2.
    pub(crate) slot_count: u32,
    pub(crate) answer: NonNull<Answer>,
    /// The sender's.
    pub(crate) buffers: Buffers,
}

impl Memory {
    fn slot(&self, index: u64) -> &Slot {
        let index = index & u64::from(self.slot_count - 1);
        // SAFETY: one of `slot_count` slots; they live as long as the link, which `Link::new` asks for.
        unsafe { self.slots.add(index as usize).as_ref() }
    }

    fn answer(&self) -> &AtomicU32 {
        // SAFETY: lives as long as the link.
        unsafe { &self.answer.as_ref().0 }
    }
}

/// A message that came has not the length that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message has another length at its sender than at its receiver")]
pub struct Mismatch;

/// The buffers that one receiver has still to read, in the order of their packets.
#[derive(Debug, Default)]
struct Held {
    packets: [(u64, usize); BUFFERS],
    first: usize,
    count: usize,
}

impl Held {
    fn push(&mut self, packet: u64, buffer: usize) {
        self.packets[(self.first + self.count) % BUFFERS] = (packet, buffer);
        self.count += 1;
    }

    /// The buffer of the first packet, if that is among the first `taken`.
    fn pop(&mut self, taken: u64) -> Option<usize> {
        let (packet, buffer) = self.packets[self.first];
        if self.count == 0 || packet > taken {
            return None;
        }
        self.first = (self.first + 1) % BUFFERS;
        self.count -= 1;
        Some(buffer)
    }
}

/// This rank's ends of the channels to and from one other rank.
#[derive(Debug)]
pub(crate) struct Link {
    outgoing: Memory,
    /// Packets sent, and how many of them are known to have been taken.
    sent: u64,
    answered: u64,
    held: Held,
    /// How often in a row there was no buffer for a message although none is held.
    refusals: u32,
    incoming: Memory,
    /// Packets taken, and what the answer's line says of them.
    taken: u64,
    told: u64,
}

impl Link {
    /// # Safety
    ///
    /// Both memories are as large as they say, were zero before either end used them, and live as long as
    /// the link. One link writes to `outgoing`, one reads from it; the same holds for `incoming`. The buffers of
    /// `outgoing` are those of the pool that the link is always given.
    pub(crate) unsafe fn new(outgoing: Memory, incoming: Memory) -> Self {
        Self {
            outgoing,
            sent: SENT_BEFORE,
            answered: SENT_BEFORE,
            held: Held::default(),
            refusals: 0,
            incoming,
            taken: SENT_BEFORE,
            told: SENT_BEFORE,
        }
    }

    /// Sends as much of a message as there is room for, and tells whether that is all of it.
    #[inline]
    pub(crate) fn send(
        &mut self,
        pool: &mut Pool,
        message: &mut TransferProgress,
        mut fill: impl FnMut(usize, &mut [u8]),
    ) -> bool {
        while !message.is_over() {
            let left = message.left();
            let is_sent = if left <= INLINE {
                self.send_inline(left, message, &mut fill)
            } else {
                self.send_piece(pool, message, &mut fill)
            };
            if !is_sent {
                return false;
            }
        }
        true
    }

    fn send_piece(
        &mut self,
        pool: &mut Pool,
        message: &mut TransferProgress,
        fill: &mut impl FnMut(usize, &mut [u8]),
    ) -> bool {
        let (offset, length) = (message.done(), piece(message, pool.buffer_bytes()));
        if length <= INLINE {
            return self.send_inline(length, message, fill);
        }
        let stage = message.stage();
        let piece = Piece {
            stage,
            offset,
            length,
        };
        self.give_back(pool);
        let mut found = pool.find(&piece, self.held.count);
        if found.is_none() && self.held.count > 0 {
            self.collect(pool);
            found = pool.find(&piece, self.held.count);
        }
        let Some(buffer) = found else {
            return self.do_without(message, fill);
        };
        self.refusals = 0;
        let is_sent = self.send_buffer(length, buffer, message, fill);
        if is_sent {
            pool.lend(buffer.index, piece);
            self.held.push(self.sent, buffer.index);
        }
        is_sent
    }

    /// Sends a little in a slot, if all buffers have waited for others for a while.
    #[cold]
    fn do_without(
        &mut self,
        message: &mut TransferProgress,
        fill: &mut impl FnMut(usize, &mut [u8]),
    ) -> bool {
        self.refusals = match self.held.count {
            0 => self.refusals.saturating_add(1),
            // What it has still to read moves it on.
            _ => 0,
        };
        self.refusals > PATIENCE && {
            let length = whole_units(message, INLINE);
            self.send_inline(length, message, fill)
        }
    }

    /// Gives back the buffers that the receiver has taken in the meantime.
    pub(crate) fn collect(&mut self, pool: &mut Pool) {
        if self.held.count > 0 {
            self.look_for_answer();
            self.give_back(pool);
        }
    }

    /// Gives back the buffers that the receiver is known to have taken.
    fn give_back(&mut self, pool: &mut Pool) {
        while let Some(buffer) = self.held.pop(self.answered) {
            pool.give_back(buffer);
        }
    }

    /// Whether there is a slot for another packet.
    #[inline]
    fn has_slot(&mut self) -> bool {
        let count = u64::from(self.outgoing.slot_count);
        if self.sent - self.answered >= count {
            self.look_for_answer();
        }
        self.sent - self.answered < count
    }

    /// Sends a packet for which there is a slot. `write` is given the slot's payload and writes what leads to `length`
    /// bytes: themselves, or their buffer.
    #[inline]
    fn publish(&mut self, length: usize, is_last: bool, write: impl FnOnce(*mut [u8; INLINE])) {
        let slot = self.outgoing.slot(self.sent);
        slot.packet.with_mut(|packet| {
            // SAFETY: the receiver has taken what stood in the slot and reads it again when it has seen the number.
            unsafe {
                write(&raw mut (*packet).payload);
                let last = if is_last { LAST } else { 0 };
                (*packet).length = length as u32 | last;
                (*packet).taken = self.taken as u32;
            }
        });
        self.sent += 1;
        slot.number.store(self.sent, Ordering::Release);
    }

    /// Sends a packet without a buffer, if there is a slot for it.
    #[inline]
    pub(crate) fn send_packet(
        &mut self,
        length: usize,
        is_last: bool,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        assert!(length <= INLINE);
        let has_slot = self.has_slot();
        if has_slot {
            self.publish(length, is_last, |payload| {
                // SAFETY: this rank's until it is published.
                fill(unsafe { &mut (&mut *payload)[..length] });
            });
        }
        has_slot
    }

    /// Sends a piece of a message that stands in a buffer, or is written there now, if there is a slot.
    fn send_buffer(
        &mut self,
        length: usize,
        buffer: Found,
        message: &mut TransferProgress,
        fill: &mut impl FnMut(usize, &mut [u8]),
    ) -> bool {
        let has_slot = self.has_slot();
        if has_slot {
            self.publish(length, length == message.left(), |payload| {
                // SAFETY: the payload is this rank's until it is published. A buffer in which the piece is not staged is
                // read by none, and at least as long as the piece.
                unsafe {
                    (*payload)[0] = buffer.index as u8;
                    if !buffer.is_staged {
                        let memory = buffer.memory.as_ptr();
                        fill(
                            message.done(),
                            std::slice::from_raw_parts_mut(memory, length),
                        );
                    }
                }
            });
            message.advance(length);
        }
        has_slot
    }

    /// Sends the next bytes of a message without a buffer, if there is a slot.
    #[inline]
    fn send_inline(
        &mut self,
        length: usize,
        message: &mut TransferProgress,
        fill: &mut impl FnMut(usize, &mut [u8]),
    ) -> bool {
        let is_last = length == message.left();
        let is_sent = self.send_packet(length, is_last, |payload| fill(message.done(), payload));
        if is_sent {
            message.advance(length);
        }
        is_sent
    }

    /// Receives as much of a message as has come, and tells whether that is all of it.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        message: &mut TransferProgress,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Result<bool, Mismatch> {
        while !message.is_over() {
            let buffers = self.incoming.buffers;
            let (left, done) = (message.left(), message.done());
            let taken = self.take_packet(|length, is_last, payload| {
                let is_short = length <= INLINE;
                let fits = is_short || length <= buffers.bytes;
                if !fits || length > left || is_last != (length == left) {
                    return Err(Mismatch);
                }
                let data = match is_short {
                    true => payload.cast(),
                    // SAFETY: the payload may be read until the packet has been taken.
                    false => buffers
                        .at(unsafe { (*payload)[0] }.into())
                        .ok_or(Mismatch)?
                        .as_ptr()
                        .cast_const(),
                };
                // SAFETY: the sender writes here again when it has been told that the packet is taken.
                take(done, unsafe { std::slice::from_raw_parts(data, length) });
                Ok(())
            })?;
            let Some(length) = taken else {
                return Ok(false);
            };
            message.advance(length);
        }
        Ok(true)
    }

    /// Receives a message that is one packet, if it has come.
    #[inline]
    pub(crate) fn receive_packet(
        &mut self,
        expected: usize,
        take: impl FnOnce(&[u8]),
    ) -> Result<bool, Mismatch> {
        let taken = self.take_packet(|length, is_last, payload| {
            if length != expected || !is_last {
                return Err(Mismatch);
            }
            // SAFETY: the sender writes here again when it has been told that the packet is taken.
            let payload = unsafe { &*payload };
            take(payload.get(..length).ok_or(Mismatch)?);
            Ok(())
        })?;
        Ok(taken.is_some())
    }

    /// Takes the next packet, if it has come. `take` is given its length, whether its message ends with it, and its
    /// payload, which may be read until it returns. Returns the length.
    #[inline]
    fn take_packet(
        &mut self,
        take: impl FnOnce(usize, bool, *const [u8; INLINE]) -> Result<(), Mismatch>,
    ) -> Result<Option<usize>, Mismatch> {
        let slot = self.incoming.slot(self.taken);
        if slot.number.load(Ordering::Acquire) != self.taken + 1 {
            return Ok(None);
        }
        let (length, taken) = slot.packet.with(|packet| {
            // SAFETY: the sender writes here again when it has been told that the packet is taken.
            unsafe {
                let (length, taken) = ((*packet).length, (*packet).taken);
                let (length, is_last) = ((length & !LAST) as usize, length & LAST != 0);
                take(length, is_last, &raw const (*packet).payload)?;
                Ok((length, taken))
            }
        })?;
        self.taken += 1;
        // The next packet comes there, or has come already if the sender is ahead.
        prefetch(self.incoming.slot(self.taken));
        self.hear(taken);
        let untold = self.taken - self.told;
        if length > INLINE || untold >= u64::from(self.incoming.slot_count / 2) {
            self.answer();
        }
        Ok(Some(length))
    }

    fn answer(&mut self) {
        self.told = self.taken;
        let answer = self.incoming.answer();
        answer.store(self.taken as u32, Ordering::Release);
    }

    fn look_for_answer(&mut self) {
        self.hear(self.outgoing.answer().load(Ordering::Acquire));
    }

    /// Counts packets as taken, given how many they are, modulo 2^32.
    #[inline]
    fn hear(&mut self, taken: u32) {
        let more = u64::from(taken.wrapping_sub(self.answered as u32));
        // Otherwise it is older than what is known.
        if more <= self.sent - self.answered {
            self.answered += more;
        }
    }
}

/// Asks for the cache line that begins at an address, to be read soon.
#[inline]
pub fn prefetch<Data>(data: &Data) {
    // SAFETY: the instruction may be given any address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(data).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}

/// Both ranks copy at the same time if a message has several pieces.
const PIECES: usize = 3;
/// A piece that is shorter is copied in less time than its packet takes to be seen.
const LEAST_PIECE: usize = 16 << 10;

/// How long the next piece of a message is: all are equally long and consist of whole units, if one fits into a
/// buffer. What was sent in slots instead is left out of the piece to which it belongs.
fn piece(message: &TransferProgress, buffer_bytes: usize) -> usize {
    let piece = message.length().div_ceil(PIECES).next_multiple_of(128);
    let limit = piece.max(LEAST_PIECE).max(message.unit()).min(buffer_bytes);
    let piece = whole_units(message, limit);
    (piece - message.done() % piece).min(message.left())
}

/// So much of `limit` bytes as is whole units; all of it if not one fits.
fn whole_units(message: &TransferProgress, limit: usize) -> usize {
    match limit - limit % message.unit() {
        0 => limit,
        whole => whole,
    }
}
