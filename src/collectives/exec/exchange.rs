//! Rounds with messages through shared memory.
//!
//! A message whose two ends share a node goes through a channel if the candidate uses shared memory: byte for byte,
//! straight from and to the runs of memory that its span names. No datatype is made, and elements with gaps are packed
//! piece by piece. All messages of a round are advanced in turn until they have ended, those of a pair one after the
//! other; messages to other nodes are MPI requests beside them. A round with at most one message each way, each of one
//! packet, goes without the bookkeeping that several messages need, which took longer than the message.
//!
//! A rank that has polled in vain for a while lets MPI make progress on messages that others may wait for
//! (`MPI_Iprobe`), and gives up its core if ranks outnumber cores.
//!
//! Messages that the receiver is likely to combine are not offered (`channel`, `offers.rs`): they would be copied to
//! other memory first, while data in buffers are combined straight out of them, during the sender's copying.

use std::rc::Rc;

use channel::{Channels, LINE, Peer, TransferProgress};

use crate::combiner::Combiner;
use crate::copier::Copier;
use crate::fused::Arrival;
use crate::kernel::Addresses;
use crate::requests::Requests;
use crate::steps::{MemoryPlace, PacketMessage, Step, Transfer};
use crate::{Communicator, ExecError, NodeChannels};

/// The number of times that a rank polls for messages before it does anything else.
const SPINS: u32 = 256;
/// The same if ranks outnumber cores, as the awaited rank may need this rank's core.
const CROWDED_SPINS: u32 = 16;
/// The number of polls between two calls that let MPI make progress.
const PROBE_EVERY: u32 = 16;
// During the first polls `ChannelExchange::pause_between_polls` only spins, so it must neither call MPI nor yield yet.
const _: () = assert!(PROBE_EVERY <= CROWDED_SPINS && CROWDED_SPINS <= SPINS);
/// The number of polls after which a rank yields its core, even if every rank should have one.
const LONG: u32 = 1 << 14;

/// The least length in bytes of packets that are combined in pieces, each piece being prefetched while an earlier one
/// is combined. When all packets were written by cached stores, this reduced the time of an allreduce of 16 KiB or more
/// by 10 to 20 % on two cores that exchange a cache line in 250 ns. On two cores that exchange one in 50 ns it
/// increased that of 16 KiB by 8 %, and did not change that of longer ones.
const LEAST_FETCHED: usize = 8 << 10;
const PIECE: usize = 1 << 10;
/// The distance in bytes from the piece being combined to the one being prefetched.
const FETCHED_AHEAD: usize = 2 * PIECE;

/// The messages of a round that go through channels.
#[derive(Debug)]
pub(crate) struct ChannelExchange {
    channels: Rc<NodeChannels>,
    /// The progress of each message of the round, sends first.
    progress: Vec<TransferProgress>,
    /// For each peer on the node, the last poll at which a message to or from it had not ended: the messages of a
    /// pair are moved one after the other.
    waiting: [Vec<u64>; 2],
    looks: u64,
}

/// The memory that messages are copied from or to.
pub(crate) struct Memories<'a> {
    /// The start of each memory of transfers.
    pub(crate) bases: &'a [*mut u8],
    pub(crate) copier: &'a mut Copier,
    pub(crate) combiner: Option<&'a Combiner>,
}

impl ChannelExchange {
    pub(crate) fn new(channels: Rc<NodeChannels>) -> Self {
        let places = channels.places().iter().flatten();
        let ranks = places.max().map_or(0, |last| *last as usize + 1);
        Self {
            channels,
            // A round of `Ways::Packet` needs two entries only if no slot is free for its packet, which may first
            // happen in a later call; and later calls must not allocate.
            progress: Vec::with_capacity(2),
            waiting: [vec![0; ranks], vec![0; ranks]],
            looks: 0,
        }
    }

    pub(crate) fn channels(&self) -> &NodeChannels {
        &self.channels
    }

    /// Prepares the messages of a round, which are in the memories.
    ///
    /// # Safety
    ///
    /// The memories are readable, and writable for receives, and no one else accesses them, as long as
    /// [`Self::advance_messages`] is called for this round.
    pub(crate) unsafe fn begin_round(&mut self, step: Step<'_>, memories: &Memories<'_>) {
        self.progress.clear();
        let start = |transfer: &Transfer| TransferProgress::of_size(transfer.message);
        self.progress.extend(step.sends.iter().map(start));
        self.progress.extend(step.recvs.iter().map(start));
        if let (sends @ [_, _, ..], Some(mut channels)) = (step.sends, self.channels.borrow()) {
            let mut stage = 0;
            for (transfer, progress) in sends.iter().zip(&mut self.progress) {
                if transfer.place.is_some() && !transfer.is_repeated {
                    stage = channels.begin_stage();
                }
                *progress = progress.of_stage(stage);
            }
        }
        let is_long = |transfer: &Transfer| transfer.message.is_long();
        if step.sends.iter().any(is_long) || step.recvs.iter().any(is_long) {
            // SAFETY: the caller promises that the memories are readable, and writable for receives, and that no one
            // else accesses them, as long as the round is advanced.
            unsafe { self.begin_long_messages(step, memories) };
        }
    }

    /// Sets the addresses and the times of the start of a round's long messages, and which of them may be offered.
    ///
    /// # Safety
    ///
    /// As for [`Self::begin_round`], which calls this.
    #[inline(never)]
    unsafe fn begin_long_messages(&mut self, step: Step<'_>, memories: &Memories<'_>) {
        let is_exchange = !step.sends.is_empty() && !step.recvs.is_empty();
        let can_offer = Self::can_offer(step, memories, is_exchange);
        let (sends, recvs) = self.progress.split_at_mut(step.sends.len());
        let is_long = |(transfer, _): &(&Transfer, _)| transfer.message.is_long();
        for (transfer, progress) in step.sends.iter().zip(sends).filter(is_long) {
            *progress = progress.starting_now();
            if let (true, Some(address)) = (can_offer, memories.address_of(transfer)) {
                *progress = progress.readable_at(address, is_exchange);
            }
        }
        for (transfer, progress) in step.recvs.iter().zip(recvs).filter(is_long) {
            *progress = progress.starting_now();
            if let (None, Some(address)) = (transfer.arrival, memories.address_of(transfer)) {
                // SAFETY: the caller promises that the memory of receives is writable, and that no one else accesses
                // it, as long as the round is advanced.
                *progress = unsafe { progress.writable_at(address) };
            }
        }
    }

    /// Whether the round's long messages may be offered to their receivers, which then read them in this rank's memory.
    ///
    /// That is of no use where a receiver combines the data: it takes them straight out of buffers, but has to store
    /// what it reads. This rank does not know what a receiver does. It assumes that receivers combine if it does so
    /// itself in this round, or if it only sends in a reduction.
    fn can_offer(step: Step<'_>, memories: &Memories<'_>, is_exchange: bool) -> bool {
        if is_exchange {
            step.arrivals().next().is_none()
        } else {
            memories.combiner.is_none()
        }
    }

    /// Moves all messages as far as possible without waiting. Returns whether all have ended.
    ///
    /// # Safety
    ///
    /// The messages, and the operands and targets of arrivals, are in the memories, which are readable, and writable
    /// for receives that have no arrival. The other operand of an arrival is readable, its target is writable, and the
    /// target is the other operand or disjoint from it. The same step has been begun.
    pub(crate) unsafe fn advance_messages(
        &mut self,
        step: Step<'_>,
        mut memories: Memories<'_>,
    ) -> Result<bool, ExecError> {
        let Some(mut channels) = self.channels.borrow() else {
            return Ok(true);
        };
        self.looks += 1;
        let look = self.looks;
        let (sent, received) = self.progress.split_at_mut(step.sends.len());
        let [sending, receiving] = &mut self.waiting;
        let mut has_ended = true;
        for (message, progress) in step.sends.iter().zip(sent) {
            if let Some(place) = peer_in_turn(message, progress, sending, look) {
                // SAFETY: the caller promises that the messages to be sent are in the memories, which are readable.
                let is_over =
                    unsafe { memories.send_more(&mut channels, place, message, progress)? };
                if !is_over {
                    sending[place] = look;
                    has_ended = false;
                }
            }
        }
        for (message, progress) in step.recvs.iter().zip(received) {
            if let Some(place) = peer_in_turn(message, progress, receiving, look) {
                // SAFETY: the caller promises that the memory of each message to be received is readable and writable
                // or, for an arrival, that the other operand is readable, the target is writable, and the target is the
                // other operand or disjoint from it.
                let is_over =
                    unsafe { memories.receive_more(&mut channels, place, message, progress)? };
                if !is_over {
                    receiving[place] = look;
                    has_ended = false;
                }
            }
        }
        Ok(has_ended)
    }

    /// Waits a little before the next poll. `looks` is the number of unsuccessful polls in this round;
    /// `pending` are the round's messages through MPI that have not completed.
    #[inline]
    pub(crate) fn pause_between_polls(
        &self,
        looks: u32,
        communicator: &Communicator,
        pending: &mut Requests,
    ) -> Result<(), ExecError> {
        if looks < PROBE_EVERY {
            std::hint::spin_loop();
            return Ok(());
        }
        self.pause_longer(looks, communicator, pending)
    }

    /// The same after several unsuccessful polls.
    #[inline(never)]
    fn pause_longer(
        &self,
        looks: u32,
        communicator: &Communicator,
        pending: &mut Requests,
    ) -> Result<(), ExecError> {
        let is_crowded = self.channels.are_crowded();
        let spins = if is_crowded { CROWDED_SPINS } else { SPINS };
        if looks.is_multiple_of(PROBE_EVERY) && (looks > spins || !pending.is_empty()) {
            if pending.is_empty() {
                // A peer may be waiting for another message of this rank, which needs MPI's progress.
                communicator.make_progress()?;
            } else {
                pending.test_all().map(drop)?;
            }
        }
        if looks > LONG || (is_crowded && looks > spins) {
            std::thread::yield_now()
        } else {
            std::hint::spin_loop()
        }
        Ok(())
    }
}

/// The index of the peer, if the message goes through a channel, has not ended, and follows no unfinished one.
#[inline]
fn peer_in_turn(
    message: &Transfer,
    progress: &TransferProgress,
    waiting: &[u64],
    look: u64,
) -> Option<usize> {
    let place = message.place? as usize;
    (!progress.is_over() && waiting[place] != look).then_some(place)
}

/// Copies the data of a packet. A single number takes no call of `memcpy`.
///
/// # Safety
///
/// As for [`std::ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn copy_packet(from: *const u8, into: *mut u8, length: usize) {
    const NUMBER: usize = size_of::<u64>();
    // SAFETY: the caller promises that `from` is readable and `into` writable for `length` bytes, and that they do not
    // overlap.
    unsafe {
        match length {
            NUMBER => std::ptr::copy_nonoverlapping(from, into, NUMBER),
            _ => std::ptr::copy_nonoverlapping(from, into, length),
        }
    }
}

impl Memories<'_> {
    /// The address of a message that is in one piece.
    fn address_of(&self, transfer: &Transfer) -> Option<*mut u8> {
        self.copier
            .contiguous_address(self.bases[transfer.slot], &transfer.runs)
    }

    /// Sends a message in one packet, if there is room for it.
    ///
    /// # Safety
    ///
    /// The message lies in the memories, which may be read.
    #[inline(always)]
    pub(crate) unsafe fn send_packet(&self, mut peer: Peer<'_>, message: &PacketMessage) -> bool {
        let from = self.bases[message.slot].wrapping_add(message.start);
        peer.send_packet(message.length, |packet| {
            // SAFETY: the caller promises that the message's memory is readable; a packet lies in none of the
            // collective's memories.
            unsafe { copy_packet(from, packet.as_mut_ptr(), packet.len()) };
        })
    }

    /// Receives a message in one packet, if it has arrived.
    ///
    /// # Safety
    ///
    /// The message, or the operand and target of its arrival, is in the memories. Without an arrival the message's
    /// memory is readable and writable. The other operand of an arrival is readable, its target is writable, and the
    /// target is the other operand or disjoint from it.
    #[inline(always)]
    pub(crate) unsafe fn receive_packet(
        &mut self,
        peer: &mut Peer<'_>,
        message: &PacketMessage,
    ) -> Result<bool, Box<ExecError>> {
        peer.receive_packet(
            message.length,
            #[inline(always)]
            // SAFETY: the caller promises that the message's memory is readable and writable or, for an arrival, that
            // the other operand is readable, the target is writable, and the target is the other operand or disjoint
            // from it; a packet lies in none of the collective's memories.
            |packet| unsafe {
                match &message.arrival {
                    None => {
                        let into = self.bases[message.slot].wrapping_add(message.start);
                        copy_packet(packet.as_ptr(), into, packet.len());
                        Ok(())
                    }
                    Some(arrival) => self.combine_packet(arrival, 0, packet).map_err(Box::new),
                }
            },
        )
    }

    /// # Safety
    ///
    /// The message lies in memory that may be read.
    #[inline]
    unsafe fn send_more(
        &mut self,
        channels: &mut Channels,
        place: usize,
        message: &Transfer,
        progress: &mut TransferProgress,
    ) -> Result<bool, ExecError> {
        let base = self.bases[message.slot];
        let mut outcome = Ok(());
        let is_over = channels.send(place, progress, |offset, packet| {
            // SAFETY: the caller promises that the message's memory is readable; the packet is a part of the message
            // from the offset on.
            let copied = unsafe { self.copier.take_out(base, &message.runs, offset, packet) };
            if copied.is_err() {
                outcome = copied;
            }
        });
        outcome.map(|()| is_over)
    }

    /// # Safety
    ///
    /// Without an arrival the message's memory is readable and writable. The other operand of an arrival is readable,
    /// its target is writable, and the target is the other operand or disjoint from it.
    #[inline]
    unsafe fn receive_more(
        &mut self,
        channels: &mut Channels,
        place: usize,
        message: &Transfer,
        progress: &mut TransferProgress,
    ) -> Result<bool, ExecError> {
        let mut outcome = Ok(());
        let received = channels.receive(place, progress, |offset, packet| {
            // SAFETY: the caller promises that the message's memory is readable and writable or, for an arrival, that
            // the other operand is readable, the target is writable, and the target is the other operand or disjoint
            // from it; the packet is a part of the message from the offset on.
            let moved = unsafe { self.store_or_combine(message, offset, packet) };
            if moved.is_err() {
                outcome = moved;
            }
        });
        let is_over = received.map_err(|_| ExecError::MessageLength)?;
        outcome.map(|()| is_over)
    }

    /// # Safety
    ///
    /// The packet is the message's data from the offset on. Without an arrival the message's memory is readable and
    /// writable. The other operand of an arrival is readable, its target is writable, and the target is the other
    /// operand or disjoint from it.
    #[inline]
    unsafe fn store_or_combine(
        &mut self,
        message: &Transfer,
        offset: usize,
        packet: &[u8],
    ) -> Result<(), ExecError> {
        let base = self.bases[message.slot];
        // SAFETY: the caller promises that the packet is the message's data from the offset on, and that the message's
        // memory is readable and writable or, for an arrival, that the other operand is readable, the target is
        // writable, and the target is the other operand or disjoint from it.
        unsafe {
            match &message.arrival {
                None => self.copier.put_in(base, &message.runs, offset, packet),
                Some(arrival) => self.combine_packet(arrival, offset, packet),
            }
        }
    }

    /// # Safety
    ///
    /// The packet has the message's units from the offset on. From there on, the arrival's other operand is readable
    /// and its target is writable for the packet's length, and the target is the other operand or disjoint from it.
    #[inline(always)]
    unsafe fn combine_packet(
        &mut self,
        arrival: &Arrival,
        offset: usize,
        packet: &[u8],
    ) -> Result<(), ExecError> {
        let Some(combiner) = self.combiner else {
            return Err(ExecError::NoOperator);
        };
        let bases = self.bases;
        let address = |place: &MemoryPlace| bases[place.slot].wrapping_add(place.start + offset);
        let other = address(&arrival.other).cast_const();
        let (left, right) = if arrival.is_left {
            (packet.as_ptr(), other)
        } else {
            (other, packet.as_ptr())
        };
        let addresses = Addresses {
            left,
            right,
            into: address(&arrival.into),
        };
        if packet.len() < LEAST_FETCHED || !combiner.has_kernel() {
            // SAFETY: the caller promises that the other operand is readable and the target writable for the packet's
            // length, and that the target is the other operand or disjoint from it; a channel's packet is disjoint from
            // both, since it lies in none of the collective's memories.
            return unsafe { combiner.combine(addresses, packet.len(), self.copier) };
        }
        // SAFETY: as for the call above, which has the same addresses and length.
        unsafe { self.combine_fetching(combiner, addresses, packet) }
    }

    /// Combines a long packet piece by piece.
    ///
    /// # Safety
    ///
    /// As for [`Combiner::combine`] with the packet's length.
    #[inline(never)]
    unsafe fn combine_fetching(
        &mut self,
        combiner: &Combiner,
        addresses: Addresses,
        packet: &[u8],
    ) -> Result<(), ExecError> {
        for (place, piece) in (0..).step_by(PIECE).zip(packet.chunks(PIECE)) {
            let later = packet.get(place + FETCHED_AHEAD..).unwrap_or_default();
            later[..PIECE.min(later.len())]
                .iter()
                .step_by(LINE)
                .for_each(|line| channel::prefetch(line));
            // SAFETY: the caller promises that the addresses are those of readable operands and a writable target, as
            // long as the packet, and that the target is an operand or disjoint from both; a piece consists of whole
            // numbers, since kernels know none that do not divide it.
            unsafe { combiner.combine(addresses.advanced_by(place), piece.len(), self.copier)? };
        }
        Ok(())
    }
}
