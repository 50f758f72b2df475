//! The part of the protocol by which a message is read in its sender's memory.
//!
//! The packet of an offer has the number of the sender's process and the address of the message. The receiver reads it
//! straight to the message's place if that is one piece of memory. Only messages of 256 KiB or more are offered.
//!
//! A send of an offered message ends only when the receiver has answered. That suits rounds, since no round writes what
//! it sends, and all of its messages must end; after an error, other ranks may still read what this rank has offered.
//! Before its first message a receiver reads a number that only ranks of this segment know, another one for each rank,
//! so that it cannot take a process in another container for the sender. What it cannot read it declines, from the
//! first byte or a later one, and the sender continues with buffers.

use super::link::{Link, whole_units};
use super::offers::{Method, Offer, Timing, pack_times, unpack_times};
use super::packets::OFFER;
use super::progress::TransferProgress;
use super::sync::Ordering;

/// The most bytes that a call of [`Link::receive`] reads in a sender's memory, before other messages may make progress.
const READ_AT_ONCE: usize = 256 << 10;

impl Link {
    /// Chooses the method for a long message, and offers the message if it is to be read. Returns whether that is still
    /// going on or complete; otherwise the message, or the rest of it, goes through buffers.
    #[inline(never)]
    pub(crate) fn offer_message(&mut self, message: &mut TransferProgress) -> bool {
        if message.method() == Method::Undecided {
            let (kind, answer) = (message.kind(), self.outgoing.answer());
            let times = || unpack_times(answer.times[kind].load(Ordering::Relaxed));
            message.set_method(self.offers.choose_method(kind, times));
        }
        if let Method::Reading { .. } = message.method()
            && self.has_slot()
        {
            let offer = Offer {
                sender: self.offers.own,
                address: message.address() as u64,
                length: message.length() as u64,
                timing: message.timing(),
            };
            self.publish_packet(OFFER, false, |payload| {
                // SAFETY: the payload is exclusive to this rank until it is published, and has room for an offer.
                unsafe { payload.cast::<Offer>().write_unaligned(offer) };
            });
            message.set_method(Method::Offered(self.sent));
        }
        match message.method() {
            Method::Offered(packet) => self.is_read(packet, message),
            method => matches!(method, Method::Reading { .. }),
        }
    }

    /// Checks how much of an offered message the receiver has read. Returns false if it has declined the rest.
    fn is_read(&mut self, packet: u64, message: &mut TransferProgress) -> bool {
        if self.answered < packet {
            self.look_for_answer();
        }
        if self.answered < packet {
            return true;
        }
        // Written before the answer. The receiver writes it again only for another offer.
        let unread = self.outgoing.answer().unread.load(Ordering::Relaxed);
        let read = match unread.checked_sub(1) {
            None => message.length(),
            // Whatever is there, the message stays within its length.
            Some(offset) => (offset as usize).min(message.length() - 1),
        };
        message.advance(read);
        if !message.is_over() {
            self.offers.stop_offering();
            message.set_method(Method::Buffers { is_timed: false });
        }
        message.is_over()
    }

    /// Records the time of a long message through buffers when it is complete. `timing` is that of the packet that has
    /// just been taken.
    #[inline(never)]
    pub(crate) fn record_buffers_time(&mut self, timing: Timing, message: &TransferProgress) {
        if timing != Timing::default() {
            self.offers.set_timing(timing);
        }
        if message.is_over() {
            self.record_and_show_time(false, message.begin_nanoseconds(), message.length());
        }
    }

    /// The offer in the next packet, which has arrived, and the packet's answer; `None` if it offers nothing.
    pub(crate) fn offer_in_next_packet(&self) -> Option<(Offer, u32)> {
        let slot = self.incoming.slot(self.taken);
        slot.packet.with(|packet| {
            // SAFETY: the sender writes here again only after the packet is marked as taken. Any bytes are an offer.
            unsafe {
                let is_offer = (*packet).length as usize == OFFER;
                let payload = (&raw const (*packet).payload).cast::<Offer>();
                is_offer.then(|| (payload.read_unaligned(), (*packet).taken))
            }
        })
    }

    /// Reads the next part of an offered message. Returns whether that is possible; otherwise the rest is declined.
    /// `taken` is the answer in the packet.
    #[inline(never)]
    pub(crate) fn read_offered(
        &mut self,
        offer: &Offer,
        taken: u32,
        memory: &mut [u8],
        message: &mut TransferProgress,
        take: &mut impl FnMut(usize, &[u8]),
    ) -> bool {
        let end = message.bytes_done() + READ_AT_ONCE;
        let mut is_readable = self.offers.is_peer(offer.sender);
        while is_readable && !message.is_over() && message.bytes_done() < end {
            let done = message.bytes_done();
            let from = offer.address.wrapping_add(done as u64);
            let length = match message.address() {
                0 => whole_units(message, memory.len()).min(message.bytes_left()),
                _ => message.bytes_left().min(READ_AT_ONCE),
            };
            let piece = match message.address() {
                0 => &mut memory[..length],
                address => {
                    let into = std::ptr::with_exposed_provenance_mut(address + done);
                    // SAFETY: a part of the message's memory, which is writable and not accessed by others, as
                    // `TransferProgress::writable_at` requires.
                    unsafe { std::slice::from_raw_parts_mut(into, length) }
                }
            };
            is_readable = self.offers.read_peer_memory(from, piece).is_ok();
            if is_readable {
                if message.address() == 0 {
                    take(done, piece);
                }
                message.advance(length);
            }
        }
        if is_readable && !message.is_over() {
            return true;
        }
        if is_readable {
            self.offers.set_timing(offer.timing);
            self.record_and_show_time(true, message.begin_nanoseconds(), message.length());
        }
        let unread = if is_readable {
            0
        } else {
            message.bytes_done() as u64 + 1
        };
        let answer = self.incoming.answer();
        answer.unread.store(unread, Ordering::Relaxed);
        self.taken += 1;
        self.sent_at_last_take = self.sent;
        self.process_answer(taken);
        self.write_answer();
        is_readable
    }

    /// Records the time of a message that is complete, and shows it to its sender, if that wants to know.
    #[inline(never)]
    fn record_and_show_time(&mut self, is_read: bool, begin: u64, length: usize) {
        if let Some((kind, times)) = self.offers.record_time(is_read, begin, length) {
            let shown = &self.incoming.answer().times[kind];
            shown.store(pack_times(times), Ordering::Relaxed);
        }
    }
}
