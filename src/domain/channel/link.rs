//! The protocol: two channels, one in each direction, between this rank and one other.
//!
//! A message is divided into *packets*, which are numbered from 1 and taken in order. Packet `n` of a channel is in
//! slot `n - 1` modulo the number of slots. Data that do not fit into the slot are in one of the sender's buffers.
//! The packet names the buffer, and so may packets to other ranks (`pool.rs`). Each shared item has one writer:
//!
//! | what | written by | read by |
//! |---|---|---|
//! | a slot's packet | the sender, while the slot is free | the receiver, once it has seen the number |
//! | a buffer | the sender, while no packet that names it is under way | the receivers of such packets, once they have seen the number |
//! | a slot's number | the sender: *released* after the packet and the buffer have been written (streaming stores end with a fence of their own) | the receiver: *acquired* before it reads them |
//! | the answer: the number of packets taken, and before it `unread` and the times | the receiver: *released* after it has read them | the sender: *acquired* before it reuses their slots and buffers |
//! | a message that is offered | the sender, before it publishes the offer, and after it has seen the answer | the receiver, once it has seen the number of the offer's packet |
//!
//! A packet also carries the number of packets that its sender has taken from the opposite channel. This answer costs
//! no additional cache line: ranks that exchange short messages transfer nothing but the packets. It does not replace
//! the answer's own line, because a sender that waits for an answer may not be reading its opposite channel. The line
//! is written after each packet with a buffer, and also when half of the slots have been taken since the last write.
//! So it is always recent enough that no sender waits forever.
//!
//! A long message may be offered instead (`reading.rs`). The receiver takes the packet of the offer when it has read the
//! message in the sender's memory, or as much of it as it can; `unread` says where it stopped.
//!
//! If all buffers wait for other ranks, and the receiver of a message has nothing to read, the message continues in
//! slots alone: the other ranks may not come before this message has arrived.
//!
//! No address in shared memory is computed from values there: both ends count packets themselves. A packet's length is
//! compared with the expected one and with the buffer's size, and its buffer number with the number of buffers. An
//! answer is used only if it is between the number of packets known to be taken and the number sent.
//!
//! # Why it is fast
//!
//! Ranks that exchange short messages move one cache line each way, and the sender of many runs ahead of the receiver,
//! which copies or combines straight out of the memory. A sender reads the receiver's line of answers only when it has
//! run out of room. Messages longer than 16 KiB are cut into several pieces, which both ranks copy at the same time.
//!
//! After a packet, the sender takes the line of the slot after the next one from the receiver's core, so that writing
//! it need not wait. The receiver fetches the next slot in advance only if it has itself sent nothing since the
//! previous packet, as otherwise the sender would have to take the line back.
//!
//! # How it is tested
//!
//! The protocol (`link.rs`, `reading.rs`, `offers.rs`, `pool.rs`) is compiled a second time in the tests, over loom's
//! atomics, which tries the interleavings of two or three ranks and the orders of memory.

use super::caches::{LINE, prefetch, prefetch_for_writing};
use super::offers::{Nonce, Offers, RankProcess, Timing};
use super::packets::{IN_FIRST_LINE, INLINE, InBuffer, LAST, Memory, Slot};
use super::pool::{BUFFERS, FoundBuffer, Pool, StagedPiece};
use super::progress::TransferProgress;
use super::stores::{SendBuffer, StoreChoice, Stores};
use super::sync::{LEAST_OFFERED, Ordering, PATIENCE, SENT_BEFORE};

/// A received message does not have the expected length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message has another length at its sender than at its receiver")]
pub struct Mismatch;

/// The buffers that one receiver has not read yet, in the order of their packets.
#[derive(Debug, Default)]
struct HeldBuffers {
    packets: [(u64, usize); BUFFERS],
    first: usize,
    count: usize,
}

impl HeldBuffers {
    fn push(&mut self, packet: u64, buffer: usize) {
        self.packets[(self.first + self.count) % BUFFERS] = (packet, buffer);
        self.count += 1;
    }

    /// Removes and returns the buffer of the first packet, if that is among the first `taken`.
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
    pub(crate) outgoing: Memory,
    /// The number of packets sent, and the number of those known to be taken.
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    held: HeldBuffers,
    stores: StoreChoice,
    /// The number of consecutive times that no buffer was available although the receiver held none.
    refusals: u32,
    pub(crate) incoming: Memory,
    /// The number of packets taken, and the number last written to the answer's line.
    pub(crate) taken: u64,
    told: u64,
    /// The number of packets sent when the last one was taken.
    pub(crate) sent_at_last_take: u64,
    /// In memory of its own, since messages of a few bytes do not need it.
    pub(crate) offers: Box<Offers>,
}

impl Link {
    /// `own` is this rank's process, and `expected` the nonce of the other rank.
    ///
    /// # Safety
    ///
    /// Both memories have the given sizes, were zero before either end used them, and live as long as the link. Only
    /// one link writes to `outgoing` and only one reads from it; the same holds for `incoming`. The buffers of
    /// `outgoing` are those of the pool that is passed to the link each time.
    pub(crate) unsafe fn new(
        outgoing: Memory,
        incoming: Memory,
        own: RankProcess,
        expected: Nonce,
    ) -> Self {
        Self {
            outgoing,
            sent: SENT_BEFORE,
            answered: SENT_BEFORE,
            held: HeldBuffers::default(),
            stores: StoreChoice::default(),
            refusals: 0,
            incoming,
            taken: SENT_BEFORE,
            told: SENT_BEFORE,
            sent_at_last_take: SENT_BEFORE,
            offers: Box::new(Offers::new(own, expected)),
        }
    }

    /// Sends as much of a message as there is room for. Returns whether that completes the message.
    #[inline]
    pub(crate) fn send(
        &mut self,
        pool: &mut Pool,
        message: &mut TransferProgress,
        mut fill: impl FnMut(usize, &mut SendBuffer<'_>),
    ) -> bool {
        if message.address() != 0 && !message.is_over() && self.offer_message(message) {
            return message.is_over();
        }
        while !message.is_over() {
            let left = message.bytes_left();
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
        fill: &mut impl FnMut(usize, &mut SendBuffer<'_>),
    ) -> bool {
        let (offset, length) = (
            message.bytes_done(),
            next_piece_length(message, pool.buffer_bytes()),
        );
        if length <= INLINE {
            return self.send_inline(length, message, fill);
        }
        let stage = message.stage();
        let piece = StagedPiece {
            stage,
            offset,
            length,
        };
        self.give_back(pool);
        let mut found = pool.find_buffer(&piece, self.held.count);
        if found.is_none() && self.held.count > 0 {
            self.free_taken_buffers(pool);
            found = pool.find_buffer(&piece, self.held.count);
        }
        let Some(buffer) = found else {
            return self.send_without_buffer(message, fill);
        };
        self.refusals = 0;
        let is_sent = self.send_buffer(length, buffer, message, fill);
        if is_sent {
            pool.lend_buffer(buffer.index, piece);
            self.held.push(self.sent, buffer.index);
        }
        is_sent
    }

    /// Sends a few bytes in a slot, if all buffers have been waiting for other ranks for a while.
    #[cold]
    fn send_without_buffer(
        &mut self,
        message: &mut TransferProgress,
        fill: &mut impl FnMut(usize, &mut SendBuffer<'_>),
    ) -> bool {
        self.refusals = match self.held.count {
            0 => self.refusals.saturating_add(1),
            // The receiver still has packets to read, which will free buffers.
            _ => 0,
        };
        self.refusals > PATIENCE && {
            let length = whole_units(message, INLINE);
            self.send_inline(length, message, fill)
        }
    }

    /// Frees the buffers that the receiver has taken in the meantime.
    pub(crate) fn free_taken_buffers(&mut self, pool: &mut Pool) {
        if self.held.count > 0 {
            self.look_for_answer();
            self.give_back(pool);
        }
    }

    /// Frees the buffers that the receiver is known to have taken.
    fn give_back(&mut self, pool: &mut Pool) {
        while let Some(buffer) = self.held.pop(self.answered) {
            pool.return_buffer(buffer);
        }
    }

    /// Whether a slot is free for another packet.
    #[inline]
    pub(crate) fn has_slot(&mut self) -> bool {
        let count = u64::from(self.outgoing.slot_count);
        if self.sent - self.answered >= count {
            self.look_for_answer();
        }
        self.sent - self.answered < count
    }

    /// Sends a packet; a slot must be free. `write` gets the slot's payload and writes either `length` bytes of data
    /// or the number of their buffer.
    #[inline(always)]
    pub(crate) fn publish_packet(
        &mut self,
        length: usize,
        is_last: bool,
        write: impl FnOnce(*mut [u8; INLINE]),
    ) {
        let slot = self.outgoing.slot(self.sent);
        slot.packet.with_mut(|packet| {
            // SAFETY: the receiver has taken the slot's previous packet, and reads the slot again only after it sees
            // the new number.
            unsafe {
                write(&raw mut (*packet).payload);
                let last = if is_last { LAST } else { 0 };
                (*packet).length = length as u32 | last;
                (*packet).taken = self.taken as u32;
            }
        });
        self.sent += 1;
        slot.number.store(self.sent, Ordering::Release);
        // Not the next slot, which the receiver may be polling already. The packet there may be as long as this one.
        let coming = self.outgoing.slot(self.sent + 1);
        prefetch_for_writing(coming);
        if let Some(line) = second_line(coming, length) {
            prefetch_for_writing(line);
        }
    }

    /// Sends a packet without a buffer, if a slot is free. `fill` writes its bytes. `is_last` says whether it ends its
    /// message.
    ///
    /// # Panics
    /// If it is longer than [`crate::MessageSize::is_packet`] permits.
    #[inline(always)]
    pub(crate) fn send_packet(
        &mut self,
        length: usize,
        is_last: bool,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        assert!(length <= INLINE);
        let has_slot = self.has_slot();
        if has_slot {
            self.publish_packet(length, is_last, |payload| {
                // SAFETY: exclusive to this rank until it is published.
                fill(unsafe { &mut (&mut *payload)[..length] });
            });
        }
        has_slot
    }

    /// Sends a piece of a message in a buffer, writing the piece unless it is already there, if a slot is free.
    fn send_buffer(
        &mut self,
        length: usize,
        buffer: FoundBuffer,
        message: &mut TransferProgress,
        fill: &mut impl FnMut(usize, &mut SendBuffer<'_>),
    ) -> bool {
        let has_slot = self.has_slot();
        if has_slot {
            if !buffer.is_staged {
                // SAFETY: a buffer in which the piece is not staged has no readers, and is at least as long.
                let memory =
                    unsafe { std::slice::from_raw_parts_mut(buffer.memory.as_ptr(), length) };
                self.stores.write_piece(length, |stores| {
                    fill(message.bytes_done(), &mut SendBuffer::new(memory, stores));
                });
            }
            let in_buffer = InBuffer {
                buffer: buffer.index,
                timing: message.timing(),
            };
            self.publish_packet(length, length == message.bytes_left(), |payload| {
                // SAFETY: the payload is exclusive to this rank until it is published, and has room for it.
                unsafe { payload.cast::<InBuffer>().write_unaligned(in_buffer) };
            });
            message.advance(length);
        }
        has_slot
    }

    /// Sends the next bytes of a message without a buffer, if a slot is free.
    #[inline]
    fn send_inline(
        &mut self,
        length: usize,
        message: &mut TransferProgress,
        fill: &mut impl FnMut(usize, &mut SendBuffer<'_>),
    ) -> bool {
        let is_last = length == message.bytes_left();
        let is_sent = self.send_packet(length, is_last, |payload| {
            fill(
                message.bytes_done(),
                &mut SendBuffer::new(payload, Stores::Cached),
            );
        });
        if is_sent {
            message.advance(length);
        }
        is_sent
    }

    /// Receives as much of a message as has arrived. Returns whether that completes the message. Data that are read in
    /// the sender's memory, and cannot be stored directly, are read into `memory`.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        memory: &mut [u8],
        message: &mut TransferProgress,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Result<bool, Mismatch> {
        while !message.is_over() {
            if message.length() >= LEAST_OFFERED {
                if !self.has_arrived() {
                    return Ok(false);
                }
                if let Some((offer, taken)) = self.offer_in_next_packet() {
                    if offer.length != message.length() as u64 {
                        return Err(Mismatch);
                    }
                    if self.read_offered(&offer, taken, memory, message, &mut take) {
                        return Ok(message.is_over());
                    }
                    // The sender continues with buffers.
                    continue;
                }
            }
            let mut timing = Timing::default();
            let buffers = self.incoming.buffers;
            let (left, done) = (message.bytes_left(), message.bytes_done());
            let taken = self.take_packet(|length, is_last, payload| {
                let is_short = length <= INLINE;
                let fits = is_short || length <= buffers.bytes;
                if !fits || length > left || is_last != (length == left) {
                    return Err(Mismatch);
                }
                let data = if is_short {
                    payload.cast()
                } else {
                    // SAFETY: the payload is readable until the packet is marked as taken. Any bytes have a value.
                    let in_buffer = unsafe { payload.cast::<InBuffer>().read_unaligned() };
                    timing = in_buffer.timing;
                    let buffer = buffers.buffer_at(in_buffer.buffer).ok_or(Mismatch)?;
                    buffer.as_ptr().cast_const()
                };
                // SAFETY: the sender writes here again only after the packet is marked as taken.
                take(done, unsafe { std::slice::from_raw_parts(data, length) });
                Ok(())
            })?;
            let Some(length) = taken else {
                return Ok(false);
            };
            message.advance(length);
            if message.length() >= LEAST_OFFERED {
                self.record_buffers_time(timing, message);
            }
        }
        Ok(true)
    }

    /// Whether the next packet has arrived.
    #[inline(always)]
    pub(crate) fn has_arrived(&self) -> bool {
        let slot = self.incoming.slot(self.taken);
        slot.number.load(Ordering::Acquire) == self.taken + 1
    }

    /// Receives a message that fits into one packet, if it has arrived. `take` copies, or combines, its bytes.
    ///
    /// # Errors
    /// If the message does not have the expected length, or `take` fails. The channels must then not be used again.
    #[inline(always)]
    pub(crate) fn receive_packet<E: From<Mismatch>>(
        &mut self,
        expected: usize,
        take: impl FnOnce(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        // Both lines are fetched at the same time. If the packet has not arrived, that was in vain, which costs less
        // than waiting for one line after the other.
        if let Some(line) = second_line(self.incoming.slot(self.taken), expected) {
            prefetch(line);
        }
        let taken = self.take_packet(
            #[inline(always)]
            |length, is_last, payload| {
                if length != expected || !is_last {
                    return Err(Mismatch.into());
                }
                // SAFETY: the sender writes here again only after the packet is marked as taken.
                let bytes = unsafe { &*payload };
                take(bytes.get(..length).ok_or(Mismatch)?)
            },
        )?;
        Ok(taken.is_some())
    }

    /// Takes the next packet, if it has arrived. `take` gets its length, whether it ends its message, and its
    /// payload, which is readable until `take` returns. Returns the length.
    #[inline(always)]
    fn take_packet<E>(
        &mut self,
        take: impl FnOnce(usize, bool, *const [u8; INLINE]) -> Result<(), E>,
    ) -> Result<Option<usize>, E> {
        if !self.has_arrived() {
            return Ok(None);
        }
        let slot = self.incoming.slot(self.taken);
        let (length, taken, outcome) = slot.packet.with(
            #[inline(always)]
            |packet| {
                // SAFETY: the sender writes here again only after the packet is marked as taken.
                unsafe {
                    let (length, taken) = ((*packet).length, (*packet).taken);
                    let (length, is_last) = ((length & !LAST) as usize, length & LAST != 0);
                    let outcome = take(length, is_last, &raw const (*packet).payload);
                    (length, taken, outcome)
                }
            },
        );
        outcome?;
        self.taken += 1;
        // If this rank has sent nothing since the last packet, the peer is probably streaming, and the next packet may
        // have arrived. Otherwise the peer probably waits for what was sent, and would have to take the line back
        // before it writes.
        if std::mem::replace(&mut self.sent_at_last_take, self.sent) == self.sent {
            prefetch(self.incoming.slot(self.taken));
        }
        self.process_answer(taken);
        let untold = self.taken - self.told;
        if length > INLINE || untold >= u64::from(self.incoming.slot_count / 2) {
            self.write_answer();
        }
        Ok(Some(length))
    }

    #[inline(never)]
    pub(crate) fn write_answer(&mut self) {
        self.told = self.taken;
        let answer = self.incoming.answer();
        answer.taken.store(self.taken as u32, Ordering::Release);
    }

    pub(crate) fn look_for_answer(&mut self) {
        self.process_answer(self.outgoing.answer().taken.load(Ordering::Acquire));
    }

    /// Processes an answer: the number of packets taken, modulo 2^32.
    #[inline]
    pub(crate) fn process_answer(&mut self, taken: u32) {
        let more = u64::from(taken.wrapping_sub(self.answered as u32));
        // Otherwise the answer is older than what is known.
        if more <= self.sent - self.answered {
            self.answered += more;
        }
    }
}

/// The second cache line of a slot, if a payload of this length is also there.
#[inline(always)]
fn second_line(slot: &Slot, length: usize) -> Option<*const u8> {
    let is_there = (IN_FIRST_LINE + 1..=INLINE).contains(&length);
    is_there.then(|| std::ptr::from_ref(slot).cast::<u8>().wrapping_add(LINE))
}

/// With several pieces per message, both ranks copy at the same time.
const PIECES: usize = 3;
/// Copying a shorter piece takes less time than it takes the receiver to see its packet.
const LEAST_PIECE: usize = 16 << 10;

/// The length of a message's next piece. All pieces have the same length and consist of whole units, if one fits into
/// a buffer. Bytes that were sent in slots are subtracted from their piece.
fn next_piece_length(message: &TransferProgress, buffer_bytes: usize) -> usize {
    let share = message.length().div_ceil(PIECES).next_multiple_of(128);
    let limit = share.max(LEAST_PIECE).max(message.unit()).min(buffer_bytes);
    let piece = whole_units(message, limit);
    (piece - message.bytes_done() % piece).min(message.bytes_left())
}

/// The largest multiple of whole units in `limit` bytes; `limit` if no unit fits.
pub(crate) fn whole_units(message: &TransferProgress, limit: usize) -> usize {
    match limit - limit % message.unit() {
        0 => limit,
        whole => whole,
    }
}
