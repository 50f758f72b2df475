//! All interleavings and all orders of memory that the processor may show, on few slots and short chunks.

use std::ptr::NonNull;

use loom::sync::Arc;
use loom::thread;

use link::{Answer, CHUNKS, INLINE, LEAST_CHUNK, Link, Memory, Mismatch, Packet, Slot};
use progress::Progress;
use sync::{AtomicU32, AtomicU64, SENT_BEFORE, UnsafeCell};

#[expect(unreachable_pub, reason = "public in the crate")]
#[path = "../../link.rs"]
mod link;
#[expect(unreachable_pub, reason = "public in the crate")]
#[path = "../../progress.rs"]
mod progress;

mod sync {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// Answers, which have 32 bits, begin anew while packets are under way.
    pub(crate) const SENT_BEFORE: u64 = (1 << 32) - 2;
}

const SLOTS: u32 = 2;

/// The memory of one channel.
struct Channel {
    slots: Vec<Slot>,
    answer: Answer,
    ring: std::cell::UnsafeCell<Vec<u8>>,
    chunks: usize,
}

// SAFETY: what the protocol is to make true; the slots' cells tell loom about the chunks as well.
unsafe impl Sync for Channel {}
// SAFETY: it is memory.
unsafe impl Send for Channel {}

impl Channel {
    fn new(chunks: usize) -> Self {
        let slot = |_| Slot {
            number: AtomicU64::new(0),
            packet: UnsafeCell::new(Packet {
                length: 0,
                taken: 0,
                payload: [0; INLINE],
            }),
        };
        Self {
            slots: (0..SLOTS).map(slot).collect(),
            answer: Answer(AtomicU32::new(SENT_BEFORE as u32)),
            ring: vec![0; chunks * LEAST_CHUNK].into(),
            chunks,
        }
    }

    fn memory(&self) -> Memory {
        let ring = self.ring.get();
        Memory {
            slots: NonNull::from(&self.slots[..]).cast(),
            slot_count: SLOTS,
            answer: NonNull::from(&self.answer),
            // SAFETY: the vector itself is not changed.
            ring: NonNull::new(unsafe { (*ring).as_mut_ptr() }).unwrap(),
            chunk_count: self.chunks,
            chunk_bytes: LEAST_CHUNK,
        }
    }
}

fn send(link: &mut Link, length: usize, byte: u8) {
    let mut message = Progress::new(length, 1);
    while !link.send(&mut message, |_, piece| piece.fill(byte)) {
        thread::yield_now();
    }
}

fn receive(link: &mut Link, length: usize, byte: u8) {
    let mut message = Progress::new(length, 1);
    let is_right = |_: usize, piece: &[u8]| assert!(piece.iter().all(|&found| found == byte));
    while !link.receive(&mut message, is_right).unwrap() {
        thread::yield_now();
    }
}

/// Runs one rank in a thread and the other in this one, in all ways in which they may come together.
fn check(chunks: usize, first: fn(&mut Link), second: fn(&mut Link)) {
    assert!(chunks <= CHUNKS);
    let mut model = loom::model::Builder::new();
    // Without a bound it takes minutes, and finds nothing more.
    model.preemption_bound = Some(3);
    model.check(move || {
        let channels = Arc::new([Channel::new(chunks), Channel::new(chunks)]);
        let other = channels.clone();
        // SAFETY: both threads keep the channels, each uses one end of each.
        let thread = thread::spawn(move || unsafe {
            first(&mut Link::new(other[0].memory(), other[1].memory()));
        });
        // SAFETY: the same.
        second(&mut unsafe { Link::new(channels[1].memory(), channels[0].memory()) });
        thread.join().unwrap();
    });
}

#[test]
fn slots_are_used_again_only_when_they_have_been_read() {
    check(
        1,
        |link| (1..=4).for_each(|byte| send(link, 8, byte)),
        |link| (1..=4).for_each(|byte| receive(link, 8, byte)),
    );
}

#[test]
fn chunks_are_used_again_only_when_they_have_been_read() {
    check(
        1,
        |link| (1..=3).for_each(|byte| send(link, 130, byte)),
        |link| (1..=3).for_each(|byte| receive(link, 130, byte)),
    );
}

#[test]
fn answers_come_with_packets_too() {
    let rank: fn(&mut Link) = |link| {
        for byte in 1..=3 {
            send(link, 8, byte);
            receive(link, 8, byte);
        }
    };
    check(1, rank, rank);
}

#[test]
fn a_packet_answers_only_what_has_been_read() {
    check(
        1,
        |link| {
            send(link, 8, 1);
            send(link, 8, 2);
            receive(link, 0, 0);
            send(link, 8, 3);
            send(link, 8, 4);
        },
        |link| {
            receive(link, 8, 1);
            send(link, 0, 0);
            (2..=4).for_each(|byte| receive(link, 8, byte));
        },
    );
}

#[test]
fn a_sender_that_receives_nothing_still_hears_an_answer() {
    check(
        1,
        |link| {
            (1..=4).for_each(|byte| send(link, 8, byte));
            receive(link, 0, 0);
        },
        |link| {
            receive(link, 8, 1);
            send(link, 0, 0);
            (2..=4).for_each(|byte| receive(link, 8, byte));
        },
    );
}

#[test]
fn another_length_is_noticed() {
    check(
        1,
        |link| send(link, 8, 1),
        |link| {
            let mut message = Progress::new(16, 1);
            let outcome = loop {
                match link.receive(&mut message, |_, _| ()) {
                    Ok(false) => thread::yield_now(),
                    outcome => break outcome,
                }
            };
            assert_eq!(outcome, Err(Mismatch));
        },
    );
}
