//! All interleavings and all memory orders that a processor may show, with few slots and short buffers.

use std::ptr::NonNull;

use loom::sync::Arc;
use loom::thread;

use link::{Link, Mismatch};
use offers::{KINDS, Method, Nonce, RankProcess};
use packets::{Answer, INLINE, LEAST_BUFFER, Memory, Packet, Slot};
use pool::{BUFFERS, Buffers, Pool};
use progress::TransferProgress;
use sync::{AtomicU32, AtomicU64, SENT_BEFORE, UnsafeCell};

#[expect(unreachable_pub, reason = "public in the crate")]
#[path = "../../caches.rs"]
mod caches;
#[expect(unreachable_pub, reason = "public in the crate")]
#[path = "../../link.rs"]
mod link;
#[path = "../../offers.rs"]
mod offers;
#[path = "../../packets.rs"]
mod packets;
#[expect(dead_code, reason = "`Channels` use the rest")]
#[path = "../../pool.rs"]
mod pool;
#[expect(dead_code, unreachable_pub, reason = "public in the crate")]
#[path = "../../progress.rs"]
mod progress;
#[path = "../../reading.rs"]
mod reading;
#[expect(unreachable_pub, reason = "public in the crate")]
#[path = "../../stores.rs"]
mod stores;

mod sync {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// Answers, which have 32 bits, wrap around while packets are under way.
    pub(crate) const SENT_BEFORE: u64 = (1 << 32) - 2;

    pub(crate) const PATIENCE: u32 = 1;

    pub(crate) const LEAST_OFFERED: usize = 200;
}

/// Reading memory of another process: here, an [`Offered`], or a nonce.
mod peer_memory {
    use super::{Offered, PIECE};

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Unreadable;

    pub(crate) fn read(readable: u32, address: usize, into: &mut [u8]) -> Result<(), Unreadable> {
        let data = std::ptr::with_exposed_provenance::<u8>(address);
        let is_nonce = into.len() != PIECE;
        let mut copy = || {
            // SAFETY: the tests offer only what is there; loom checks the accesses.
            into.copy_from_slice(unsafe { std::slice::from_raw_parts(data, into.len()) });
        };
        if is_nonce {
            copy();
            return Ok(());
        }
        let start = address - address % align_of::<Offered>();
        // SAFETY: the same.
        let offered = unsafe { &*std::ptr::with_exposed_provenance::<Offered>(start) };
        if address - start >= readable as usize {
            return Err(Unreadable);
        }
        offered.accesses.with(|_| copy());
        Ok(())
    }
}

/// The size of the pieces in which offered messages are read.
const PIECE: usize = 128;

/// A message that a rank offers.
#[repr(C, align(512))]
struct Offered {
    data: std::cell::UnsafeCell<[u8; 2 * PIECE]>,
    accesses: UnsafeCell<()>,
}

static NONCE: Nonce = 1 << 100 | 1;

const SLOTS: u32 = 2;

/// The memory that ranks share: their channels, and the send buffers of each.
struct Node {
    ranks: usize,
    buffer_count: usize,
    slots: Vec<Slot>,
    answers: Vec<Answer>,
    buffers: Vec<std::cell::UnsafeCell<[u8; LEAST_BUFFER]>>,
    /// The accesses to buffers, because loom does not see accesses to plain memory.
    accesses: Vec<UnsafeCell<()>>,
}

// SAFETY: the protocol under test must ensure this; cells show loom the accesses to slots and buffers.
unsafe impl Sync for Node {}
// SAFETY: it is memory.
unsafe impl Send for Node {}

impl Node {
    fn new(ranks: usize, buffer_count: usize) -> Self {
        assert!(buffer_count <= BUFFERS);
        let slot = |_| Slot {
            number: AtomicU64::new(0),
            packet: UnsafeCell::new(Packet {
                length: 0,
                taken: 0,
                payload: [0; INLINE],
            }),
        };
        let answer = |_| Answer {
            taken: AtomicU32::new(SENT_BEFORE as u32),
            unread: AtomicU64::new(0),
            times: [(); KINDS].map(|()| AtomicU64::new(0)),
        };
        let (pairs, buffers) = (ranks * ranks, ranks * buffer_count);
        Self {
            ranks,
            buffer_count,
            slots: (0..pairs * SLOTS as usize).map(slot).collect(),
            answers: (0..pairs).map(answer).collect(),
            buffers: (0..buffers).map(|_| [0; LEAST_BUFFER].into()).collect(),
            accesses: (0..buffers).map(|_| UnsafeCell::new(())).collect(),
        }
    }

    fn buffers_of(&self, rank: usize) -> Buffers {
        let buffers = &self.buffers[rank * self.buffer_count..][..self.buffer_count];
        Buffers {
            memory: NonNull::from(buffers).cast(),
            count: self.buffer_count,
            bytes: LEAST_BUFFER,
        }
    }

    fn memory(&self, from: usize, to: usize) -> Memory {
        let pair = from * self.ranks + to;
        let slots = &self.slots[pair * SLOTS as usize..][..SLOTS as usize];
        Memory {
            slots: NonNull::from(slots).cast(),
            slot_count: SLOTS,
            answer: NonNull::from(&self.answers[pair]),
            buffers: self.buffers_of(from),
        }
    }

    /// The cell for accesses to the buffer that contains a piece, if one does.
    fn accesses(&self, piece: &[u8]) -> Option<&UnsafeCell<()>> {
        let distance = piece
            .as_ptr()
            .addr()
            .wrapping_sub(self.buffers.as_ptr().addr());
        self.accesses.get(distance / LEAST_BUFFER)
    }
}

/// A rank with its ends of the node's channels.
struct Rank {
    node: Arc<Node>,
    links: Vec<Link>,
    pool: Pool,
}

impl Rank {
    fn new(node: Arc<Node>, rank: usize) -> Self {
        Self::readable(node, rank, 2 * PIECE as u32, NONCE)
    }

    /// A rank whose messages can be read up to an offset, its process here, and which expects this nonce of others.
    fn readable(node: Arc<Node>, rank: usize, process: u32, expected: Nonce) -> Self {
        let own = RankProcess {
            nonce_address: (&raw const NONCE).expose_provenance() as u64,
            process,
            _rest: 0,
        };
        let link = |peer| {
            let (outgoing, incoming) = (node.memory(rank, peer), node.memory(peer, rank));
            // SAFETY: the memory lives as long as the rank; each rank uses its own ends.
            unsafe { Link::new(outgoing, incoming, own, expected) }
        };
        Self {
            links: (0..node.ranks).map(link).collect(),
            pool: Pool::new(node.buffers_of(rank), node.ranks == 2),
            node,
        }
    }

    /// Returns whether all of the message has been sent. Some packets use the functions for single packets; both ends
    /// choose these independently.
    fn try_to_send(&mut self, to: usize, message: &mut TransferProgress, byte: u8) -> bool {
        let node = &self.node;
        let fill = |_: usize, piece: &mut [u8]| match node.accesses(piece) {
            Some(accesses) => accesses.with_mut(|_| piece.fill(byte)),
            None => piece.fill(byte),
        };
        if message.length() <= INLINE && byte.is_multiple_of(2) {
            let length = message.length();
            return self.links[to].send_packet(length, true, |packet| fill(0, packet));
        }
        self.links[to].send(&mut self.pool, message, |at, piece| fill(at, piece))
    }

    fn send(&mut self, to: usize, length: usize, byte: u8) {
        let mut message = TransferProgress::new(length, 1);
        while !self.try_to_send(to, &mut message, byte) {
            thread::yield_now();
        }
    }

    fn try_to_receive(&mut self, from: usize, message: &mut TransferProgress, byte: u8) {
        let node = &self.node;
        let is_right = |_: usize, piece: &[u8]| {
            let check = || assert!(piece.iter().all(|&found| found == byte));
            match node.accesses(piece) {
                Some(accesses) => accesses.with(|_| check()),
                None => check(),
            }
        };
        if message.length() <= INLINE && byte.is_multiple_of(3) {
            let length = message.length();
            let received = self.links[from].receive_packet(length, |packet| {
                is_right(0, packet);
                Ok::<(), Mismatch>(())
            });
            if received.unwrap() {
                message.advance(length);
            }
            return;
        }
        let memory = &mut [0; PIECE];
        let received = self.links[from].receive(memory, message, is_right);
        received.unwrap();
    }

    fn receive(&mut self, from: usize, length: usize, byte: u8) {
        let mut message = TransferProgress::new(length, 1);
        while !message.is_over() {
            self.try_to_receive(from, &mut message, byte);
            if !message.is_over() {
                thread::yield_now();
            }
        }
    }
}

/// Runs one rank in another thread and one in this thread, in all interleavings.
fn check(buffers: usize, ranks: [fn(&mut Rank); 2]) {
    let mut model = loom::model::Builder::new();
    // Without a bound it takes minutes and finds no more errors.
    model.preemption_bound = Some(3);
    model.check(move || {
        let node = Arc::new(Node::new(2, buffers));
        let other = node.clone();
        let thread = thread::spawn(move || ranks[0](&mut Rank::new(other, 0)));
        ranks[1](&mut Rank::new(node, 1));
        thread.join().unwrap();
    });
}

#[test]
fn slots_are_reused_only_after_they_have_been_read() {
    check(
        1,
        [
            |rank| (1..=4).for_each(|byte| rank.send(1, 8, byte)),
            |rank| (1..=4).for_each(|byte| rank.receive(0, 8, byte)),
        ],
    );
}

#[test]
fn buffers_are_reused_only_after_they_have_been_read() {
    check(
        1,
        [
            |rank| (1..=3).for_each(|byte| rank.send(1, 130, byte)),
            |rank| (1..=3).for_each(|byte| rank.receive(0, 130, byte)),
        ],
    );
}

/// One of several consecutive messages, and its progress.
struct Message {
    byte: u8,
    progress: TransferProgress,
}

impl Message {
    fn of_stage(stage: u8) -> Self {
        Self {
            byte: stage,
            progress: TransferProgress::new(130, 1).of_stage(stage.into()),
        }
    }

    fn is_last(&self) -> bool {
        self.byte == 2 && self.progress.is_over()
    }

    /// Tries once to move the message on, or the next one.
    fn advance(&mut self, mut act: impl FnMut(&mut TransferProgress, u8)) {
        if self.progress.is_over() && self.byte < 2 {
            *self = Self::of_stage(self.byte + 1);
        }
        act(&mut self.progress, self.byte);
    }
}

/// The only buffer is used for one receiver, then for the other, then for other data. Three threads that wait for each
/// other are too many for loom: they try a few times, and the rest is done in order.
#[test]
fn buffers_are_reused_only_after_all_receivers_have_read_them() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let node = Arc::new(Node::new(3, 1));
        let receive = |rank: &mut Rank, message: &mut Message| {
            message.advance(|progress, byte| rank.try_to_receive(0, progress, byte));
        };
        let send = |rank: &mut Rank, messages: &mut [Message; 2]| {
            for (to, message) in (1..).zip(messages) {
                message.advance(|progress, byte| {
                    rank.try_to_send(to, progress, byte);
                });
            }
        };
        let receivers = [1, 2].map(|rank| {
            let node = node.clone();
            thread::spawn(move || {
                let (mut rank, mut message) = (Rank::new(node, rank), Message::of_stage(1));
                (0..2).for_each(|_| receive(&mut rank, &mut message));
                (rank, message)
            })
        });
        let mut sender = Rank::new(node, 0);
        let mut sending = [1, 1].map(Message::of_stage);
        (0..3).for_each(|_| send(&mut sender, &mut sending));
        let mut receivers = receivers.map(|thread| thread.join().unwrap());
        for _ in 0..20 {
            send(&mut sender, &mut sending);
            for (rank, message) in &mut receivers {
                receive(rank, message);
            }
        }
        assert!(receivers.iter().all(|(_, message)| message.is_last()));
    });
}

#[test]
fn answers_also_arrive_with_packets() {
    fn exchange(rank: &mut Rank, peer: usize) {
        for byte in 1..=3 {
            rank.send(peer, 8, byte);
            rank.receive(peer, 8, byte);
        }
    }
    check(1, [|rank| exchange(rank, 1), |rank| exchange(rank, 0)]);
}

#[test]
fn a_packet_answers_only_packets_that_have_been_read() {
    check(
        1,
        [
            |rank| {
                rank.send(1, 8, 1);
                rank.send(1, 8, 2);
                rank.receive(1, 0, 0);
                rank.send(1, 8, 3);
                rank.send(1, 8, 4);
            },
            |rank| {
                rank.receive(0, 8, 1);
                rank.send(0, 0, 0);
                (2..=4).for_each(|byte| rank.receive(0, 8, byte));
            },
        ],
    );
}

#[test]
fn a_sender_that_receives_no_packets_still_gets_an_answer() {
    check(
        1,
        [
            |rank| {
                (1..=4).for_each(|byte| rank.send(1, 8, byte));
                rank.receive(1, 0, 0);
            },
            |rank| {
                rank.receive(0, 8, 1);
                rank.send(0, 0, 0);
                (2..=4).for_each(|byte| rank.receive(0, 8, byte));
            },
        ],
    );
}

/// Offers two messages with the same memory, which can be read up to an offset.
fn offer(rank: &mut Rank, readable: usize) {
    let offered = Offered {
        data: [0; 2 * PIECE].into(),
        accesses: UnsafeCell::new(()),
    };
    for byte in 1..=2 {
        // SAFETY: loom checks the accesses.
        offered
            .accesses
            .with_mut(|_| unsafe { (*offered.data.get()).fill(byte) });
        let message = TransferProgress::new(2 * PIECE, 1);
        let mut message = message.readable_at(offered.data.get().cast(), false);
        message.set_method(Method::Reading { is_timed: true });
        while !rank.links[1].send(&mut rank.pool, &mut message, |at, piece| {
            assert!(at >= readable, "read, and not sent through a buffer");
            piece.fill(byte);
        }) {
            thread::yield_now();
        }
    }
}

/// Checks that offered messages arrive if they can be read up to an offset, and the receiver expects this nonce.
fn check_offers(readable: usize, expected: Nonce) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let node = Arc::new(Node::new(2, 1));
        let other = node.clone();
        let thread = thread::spawn(move || {
            let is_expected = expected == NONCE;
            let mut sender = Rank::readable(other, 0, readable as u32, NONCE);
            offer(&mut sender, if is_expected { readable } else { 0 });
        });
        let mut receiver = Rank::readable(node, 1, 0, expected);
        (1..=2).for_each(|byte| receiver.receive(0, 2 * PIECE, byte));
        thread.join().unwrap();
    });
}

#[test]
fn offered_memory_is_written_again_only_after_it_has_been_read() {
    check_offers(2 * PIECE, NONCE);
}

#[test]
fn what_cannot_be_read_is_sent_through_buffers() {
    check_offers(0, NONCE);
    check_offers(PIECE, NONCE);
    check_offers(2 * PIECE, NONCE + 1);
}

#[test]
fn a_wrong_length_is_noticed() {
    check(
        1,
        [
            |rank| rank.send(1, 8, 1),
            |rank| {
                let mut message = TransferProgress::new(16, 1);
                let outcome = loop {
                    match rank.links[0].receive(&mut [], &mut message, |_, _| ()) {
                        Ok(false) => thread::yield_now(),
                        outcome => break outcome,
                    }
                };
                assert_eq!(outcome, Err(Mismatch));
            },
        ],
    );
}
