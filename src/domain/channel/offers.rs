//! Long messages that the receiver reads in the sender's own memory.
//!
//! Instead of copying a message into buffers, its sender can *offer* it: a packet has the message's address, and the
//! receiver reads the data there through the kernel (`process_vm_readv`, cross memory attach). The data are copied once
//! and do not pass through shared memory, but the kernel has to find the pages, and the sender waits for the receiver.
//! Which method takes less time depends on the processor and the length, and on whether a rank has to copy both the
//! data it sends and those it receives. So the sender tries both, and compares the receiver's times ([`MethodChoice`]).
//! On two cores of an AMD EPYC with a common last-level cache, reading 1 MiB took 3.4 times as long as buffers (66 and
//! 19 us). On two cores of Intel's Sapphire Rapids, an allgather of 256 KiB took 50 us through buffers and 26 us by
//! reading.
//!
//! The receiver may not be permitted to read, or the sender's process may have another number in the receiver's
//! namespace. So before the first message, it reads a [`Nonce`] there. If it cannot read, it *declines* the rest of the
//! message, and the sender continues with buffers and does not offer again.
//!
//! The first 21 of every 256 to 2048 messages of a kind try both methods. The kind is the length, within a factor of
//! four, and whether the sender also receives. The receiver measures the time from when both ranks have started the
//! round, and shows it beside its answer. Of an exchange the slower direction counts, so that both ranks choose alike.

use std::ops::Range;

use super::peer_memory::{self, Unreadable};
use super::sync::LEAST_OFFERED;

/// A number in each rank's own memory that the other ranks know. No other process has the same at the same address.
pub(crate) type Nonce = u128;

/// A rank's process, and the location of its nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct RankProcess {
    pub(crate) nonce_address: u64,
    pub(crate) process: u32,
    /// No padding, whose bytes would have no value.
    pub(crate) _rest: u32,
}

impl RankProcess {
    fn read_memory(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        peer_memory::read(self.process, address as usize, into)
    }

    fn has_nonce(&self, nonce: Nonce) -> bool {
        let mut found = [0; size_of::<Nonce>()];
        let read = self.read_memory(self.nonce_address, &mut found);
        read.is_ok() && Nonce::from_ne_bytes(found) == nonce
    }
}

/// The process of the other rank: known by its nonce until it has been found.
#[derive(Clone, Copy, Debug)]
enum PeerProcess {
    Expected(Nonce),
    Found(RankProcess),
}

/// The payload of a packet that offers a message.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Offer {
    pub(crate) sender: RankProcess,
    pub(crate) address: u64,
    pub(crate) length: u64,
    pub(crate) timing: Timing,
}

/// Tells the receiver whether to measure the time of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Timing {
    /// The time at which the sender began ([`now_nanoseconds`]).
    pub(crate) begin: u64,
    /// The message's kind plus one; 0 if it is not timed.
    pub(crate) mark: u64,
}

/// The time in nanoseconds, by a clock that the processes of a node have in common, except in time namespaces.
pub(crate) fn now_nanoseconds() -> u64 {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC);
    time.map_or(0, |time| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    })
}

/// The method by which a message's data get to its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Method {
    #[default]
    Undecided,
    /// Through slots and buffers.
    Buffers { is_timed: bool },
    /// By reading in the sender's memory, once it has been offered.
    Reading { is_timed: bool },
    /// Offered by the packet with this number.
    Offered(u64),
}

/// The number of ranges of lengths: each but the last one covers a factor of four.
const RANGES: usize = 3;

/// The number of kinds of messages that may be offered. Each has its own choice of the method.
pub(crate) const KINDS: usize = 2 * RANGES;

/// The kind of a message, by its length and by whether the sender receives others at the same time, an exchange.
pub(crate) fn message_kind(length: usize, is_exchange: bool) -> usize {
    let quadruplings = (length / LEAST_OFFERED).max(1).ilog2() as usize / 2;
    2 * quadruplings.min(RANGES - 1) + usize::from(is_exchange)
}

/// Whether messages of a kind are sent while others are received.
fn is_exchange(kind: usize) -> bool {
    kind % 2 == 1
}

/// The times of an exchange from those of both directions, of which the opposite one may not have been measured. One
/// direction may be over long before the other, and both ranks continue when both are over.
fn slower_direction(times: Times, opposite: Times) -> Times {
    let larger = |index: usize| {
        if opposite[index].is_finite() {
            times[index].max(opposite[index])
        } else {
            times[index]
        }
    };
    [larger(0), larger(1)]
}

/// The receiver's times for a message of one kind through buffers and by reading, in nanoseconds for a byte.
pub(crate) type Times = [f32; 2];

/// [`Times`] in one atomic number; zero while they have not been measured.
pub(crate) fn pack_times(times: Times) -> u64 {
    let [buffers, reading] = times.map(|time| u64::from(time.to_bits()));
    buffers << 32 | reading
}

/// The reverse of [`pack_times`].
pub(crate) fn unpack_times(packed: u64) -> Times {
    [packed >> 32, packed].map(|bits| f32::from_bits(bits as u32))
}

/// The number of messages that are timed with each method before both are compared.
const SAMPLES: usize = 5;

/// The last times of one kind of messages with each method.
#[derive(Clone, Copy, Debug)]
struct LastTimes([[f32; SAMPLES]; 2]);

impl Default for LastTimes {
    fn default() -> Self {
        Self([[f32::INFINITY; SAMPLES]; 2])
    }
}

impl LastTimes {
    /// Records the time of a message for a byte.
    fn record_sample(&mut self, is_read: bool, time: f32) {
        let last = &mut self.0[usize::from(is_read)];
        last.rotate_left(1);
        last[SAMPLES - 1] = time;
    }

    /// The medians: an interruption lengthens a single time.
    fn medians(&self) -> Times {
        self.0.map(|mut times| {
            times.sort_by(f32::total_cmp);
            times[SAMPLES / 2]
        })
    }
}

/// The number of messages of a kind after which both methods are compared again, since a rank may move to another core.
/// It doubles from the least to the most, so that the few messages which try the slower method hardly count.
const EPOCHS: Range<u32> = 256..2048;
/// The messages of an epoch that are timed: some through buffers, and some by reading. Those before them use the same
/// method but are not timed: the first ones in their memory wait for the kernel, and each method leaves other data in
/// the caches.
const BUFFERS_TIMED: Range<u32> = 8..8 + SAMPLES as u32;
const READING_TIMED: Range<u32> = BUFFERS_TIMED.end + 3..BUFFERS_TIMED.end + 3 + SAMPLES as u32;
/// Messages are offered if reading takes less than this fraction of the time through buffers.
const LESS: f32 = 0.9;

/// The choice between both methods for one kind of messages to one receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MethodChoice {
    /// The number of messages in this epoch, and its length.
    messages: u32,
    epoch: u32,
    is_reading: bool,
}

impl Default for MethodChoice {
    fn default() -> Self {
        Self {
            messages: 0,
            epoch: EPOCHS.start,
            is_reading: false,
        }
    }
}

impl MethodChoice {
    /// Chooses the method for the next message; `times` gives the receiver's times.
    fn next_method(&mut self, times: impl FnOnce() -> Times) -> Method {
        let message = self.messages;
        self.messages += 1;
        if self.messages == self.epoch {
            self.messages = 0;
            self.epoch = (2 * self.epoch).min(EPOCHS.end);
        }
        // The receiver has read the last one that is timed.
        if message == READING_TIMED.end {
            let [buffers, reading] = times();
            let are_measured = buffers.is_finite() && reading > 0.0;
            self.is_reading = are_measured && reading < LESS * buffers;
        }
        match message {
            _ if message < BUFFERS_TIMED.end => Method::Buffers {
                is_timed: BUFFERS_TIMED.contains(&message),
            },
            _ if message < READING_TIMED.end => Method::Reading {
                is_timed: READING_TIMED.contains(&message),
            },
            _ if self.is_reading => Method::Reading { is_timed: false },
            _ => Method::Buffers { is_timed: false },
        }
    }
}

/// The state of offers to and from one other rank.
#[derive(Debug)]
pub(crate) struct Offers {
    /// This rank's process.
    pub(crate) own: RankProcess,
    choices: [MethodChoice; KINDS],
    is_declined: bool,
    peer: PeerProcess,
    last_times: [LastTimes; KINDS],
    /// The timing of the message that is being received.
    timing: Timing,
}

impl Offers {
    /// `expected` is the nonce of the other rank.
    pub(crate) fn new(own: RankProcess, expected: Nonce) -> Self {
        Self {
            own,
            choices: [MethodChoice::default(); KINDS],
            is_declined: false,
            peer: PeerProcess::Expected(expected),
            last_times: [LastTimes::default(); KINDS],
            timing: Timing::default(),
        }
    }

    /// Chooses the method for the next message of a kind; `times` gives the receiver's times.
    pub(crate) fn choose_method(&mut self, kind: usize, times: impl FnOnce() -> Times) -> Method {
        if self.is_declined {
            return Method::Buffers { is_timed: false };
        }
        let opposite = self.last_times[kind].medians();
        self.choices[kind].next_method(|| {
            if is_exchange(kind) {
                slower_direction(times(), opposite)
            } else {
                times()
            }
        })
    }

    /// Offers no more messages.
    pub(crate) fn stop_offering(&mut self) {
        self.is_declined = true;
    }

    /// Whether the process that offers a message is the other rank's.
    pub(crate) fn is_peer(&mut self, sender: RankProcess) -> bool {
        if let PeerProcess::Expected(nonce) = self.peer
            && sender.has_nonce(nonce)
        {
            self.peer = PeerProcess::Found(sender);
        }
        matches!(self.peer, PeerProcess::Found(found) if found == sender)
    }

    /// Reads memory of the other rank, if its process has been found.
    pub(crate) fn read_peer_memory(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        match self.peer {
            PeerProcess::Found(peer) => peer.read_memory(address, into),
            PeerProcess::Expected(_) => Err(Unreadable),
        }
    }

    /// Sets the timing of the message that is being received.
    pub(crate) fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// Records the time of the message that has been received since both ranks had begun, if it is timed. `begin` is
    /// the time at which this rank began. Returns the medians, with the kind of the message.
    pub(crate) fn record_time(
        &mut self,
        is_read: bool,
        begin: u64,
        length: usize,
    ) -> Option<(usize, Times)> {
        let Timing {
            begin: sender_began,
            mark,
        } = std::mem::take(&mut self.timing);
        let kind = (mark as usize).checked_sub(1)?;
        let last = self.last_times.get_mut(kind)?;
        let nanoseconds = now_nanoseconds().saturating_sub(begin.max(sender_began));
        last.record_sample(is_read, nanoseconds as f32 / length as f32);
        Some((kind, last.medians()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_different_lengths_and_directions_are_of_different_kinds() {
        let lengths = [4, 15, 16, 63, 64, 1 << 20].map(|quarters| quarters * LEAST_OFFERED / 4);
        assert_eq!(
            lengths.map(|length| message_kind(length, false)),
            [0, 0, 2, 2, 4, 4]
        );
        assert_eq!(
            lengths.map(|length| message_kind(length, true)),
            [1, 1, 3, 3, 5, 5]
        );
    }

    #[test]
    fn times_are_packed_without_loss() {
        for times in [[0.0, 0.0], [0.25, 1e9], [f32::INFINITY, 1.0]] {
            assert_eq!(unpack_times(pack_times(times)), times);
        }
        assert_eq!(pack_times([0.0; 2]), 0);
    }

    #[test]
    fn one_long_time_does_not_count() {
        let mut last = LastTimes::default();
        assert_eq!(last.medians(), [f32::INFINITY; 2]);
        for time in [9.0, 1.0, 2.0, 4.0, 3.0, 9.0] {
            last.record_sample(true, time);
        }
        assert_eq!(last.medians(), [f32::INFINITY, 3.0]);
    }

    const READING: Method = Method::Reading { is_timed: false };
    const BUFFERS: Method = Method::Buffers { is_timed: false };

    /// The methods for the messages of an epoch.
    fn epoch(choice: &mut MethodChoice, times: Times) -> Vec<Method> {
        (0..choice.epoch)
            .map(|_| choice.next_method(|| times))
            .collect()
    }

    #[test]
    fn the_method_that_takes_less_time_is_chosen_in_each_epoch() {
        let mut choice = MethodChoice::default();
        for (times, method) in [
            ([2.0, 1.0], READING),
            ([1.0, 2.0], BUFFERS),
            ([2.0, 1.0], READING),
            ([1.0, 0.95], BUFFERS),
            // Not measured.
            ([0.0, 0.0], BUFFERS),
            ([1.0, 0.0], BUFFERS),
            ([f32::INFINITY, 1.0], BUFFERS),
            ([1.0, f32::INFINITY], BUFFERS),
            ([f32::NAN, 1.0], BUFFERS),
        ] {
            let methods = epoch(&mut choice, times);
            assert_eq!(methods.last(), Some(&method), "{times:?}");
            assert_eq!(methods[READING_TIMED.end as usize], method, "{times:?}");
            let count = |wanted| methods.iter().filter(|found| **found == wanted).count();
            assert_eq!(count(Method::Buffers { is_timed: true }), SAMPLES);
            assert_eq!(count(Method::Reading { is_timed: true }), SAMPLES);
        }
        assert_eq!(choice.epoch, EPOCHS.end);
    }

    const OWN: RankProcess = RankProcess {
        nonce_address: 0,
        process: 0,
        _rest: 0,
    };

    #[test]
    fn kinds_of_messages_have_their_own_choice_until_the_receiver_declines() {
        let mut offers = Offers::new(OWN, 0);
        for _ in 1..EPOCHS.start {
            offers.choose_method(1, || [2.0, 1.0]);
            offers.choose_method(2, || [1.0, 2.0]);
        }
        let mut methods = || [1, 2].map(|kind| offers.choose_method(kind, || [0.0; 2]));
        assert_eq!(methods(), [READING, BUFFERS]);
        offers.stop_offering();
        for _ in 0..EPOCHS.start {
            assert_eq!(offers.choose_method(1, || [2.0, 1.0]), BUFFERS);
        }
    }

    #[test]
    fn an_exchange_takes_as_long_as_the_slower_direction() {
        const UNKNOWN: f32 = f32::INFINITY;
        assert_eq!(slower_direction([1.0, 2.0], [3.0, 1.0]), [3.0, 2.0]);
        assert_eq!(slower_direction([1.0, 2.0], [UNKNOWN, UNKNOWN]), [1.0, 2.0]);
        assert_eq!(slower_direction([UNKNOWN, 2.0], [3.0, 3.0]), [UNKNOWN, 3.0]);
        let kinds = [true, false].map(|both| is_exchange(message_kind(LEAST_OFFERED, both)));
        assert_eq!(kinds, [true, false]);
    }

    /// The time counts from when both ranks had begun.
    #[test]
    fn times_are_recorded_for_the_kind_that_the_sender_names() {
        let mut offers = Offers::new(OWN, 0);
        for (is_read, sender_began, began) in [(false, 1, 100), (true, 100, 1)] {
            for _ in 0..SAMPLES {
                let [begin, sender_began] =
                    [began, sender_began].map(|ago| now_nanoseconds() - ago * 1_000_000);
                offers.set_timing(Timing {
                    begin: sender_began,
                    mark: 3,
                });
                let (kind, times) = offers.record_time(is_read, begin, 1000).unwrap_or_default();
                assert_eq!(kind, 2);
                let time = times[usize::from(is_read)];
                assert!(time >= 1e3 && (time < 9e4 || time.is_infinite()), "{time}");
            }
        }
        assert_eq!(
            offers.record_time(false, 0, 1000),
            None,
            "it has been recorded"
        );
        for mark in [0, 1 + KINDS as u64, u64::MAX] {
            offers.set_timing(Timing { begin: 0, mark });
            assert_eq!(offers.record_time(false, 0, 1000), None, "{mark}");
        }
    }
}
