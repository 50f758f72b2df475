//! All interleavings and all memory orders that a processor may show, with few slots and short buffers.

use std::ptr::NonNull;

use loom::sync::Arc;
use loom::thread;

use link::{Answer, INLINE, LEAST_BUFFER, Link, Memory, Mismatch, Packet, Slot};
use pool::{BUFFERS, Buffers, Pool};
use progress::TransferProgress;
use sync::{AtomicU32, AtomicU64, SENT_BEFORE, UnsafeCell};

#[expect(unreachable_pub, reason = "public in the crate")]
#[path = "../../caches.rs"]
mod caches;
#[expect(unreachable_pub, reason = "public in the crate")]
#[path = "../../link.rs"]
mod link;
#[expect(dead_code, reason = "`Channels` use the rest")]
#[path = "../../pool.rs"]
mod pool;
#[expect(unreachable_pub, reason = "public in the crate")]
#[path = "../../progress.rs"]
mod progress;
#[expect(unreachable_pub, reason = "public in the crate")]
#[path = "../../stores.rs"]
mod stores;

mod sync {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// Answers, which have 32 bits, wrap around while packets are under way.
    pub(crate) const SENT_BEFORE: u64 = (1 << 32) - 2;

    pub(crate) const PATIENCE: u32 = 1;
}

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
        let answer = |_| Answer(AtomicU32::new(SENT_BEFORE as u32));
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
        let link = |peer| {
            // SAFETY: the memory lives as long as the rank; each rank uses its own ends.
            unsafe { Link::new(node.memory(rank, peer), node.memory(peer, rank)) }
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
        if message.is_packet() && byte.is_multiple_of(2) {
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
        if message.is_packet() && byte.is_multiple_of(3) {
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
        self.links[from].receive(message, is_right).unwrap();
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

#[test]
fn a_wrong_length_is_noticed() {
    check(
        1,
        [
            |rank| rank.send(1, 8, 1),
            |rank| {
                let mut message = TransferProgress::new(16, 1);
                let outcome = loop {
                    match rank.links[0].receive(&mut message, |_, _| ()) {
                        Ok(false) => thread::yield_now(),
                        outcome => break outcome,
                    }
                };
                assert_eq!(outcome, Err(Mismatch));
            },
        ],
    );
}
