//! Messages between two ranks of this process, which take turns.

use std::fs::File;
use std::os::unix::fs::FileExt;

use channel::{Channels, MessageSize, Mismatch, SegmentLayout, SharedSegment, TransferProgress};

use super::{several, two};

/// The byte of a message at an offset.
fn byte(message: usize, offset: usize) -> u8 {
    (message.wrapping_mul(31) ^ offset ^ (offset >> 8) ^ (offset >> 16)) as u8
}

/// The messages of one direction, and the progress of both ends.
struct Direction {
    lengths: Vec<usize>,
    sending: (usize, TransferProgress),
    receiving: (usize, TransferProgress),
}

impl Direction {
    fn new(lengths: Vec<usize>) -> Self {
        let first = (
            0,
            TransferProgress::new(lengths.first().copied().unwrap_or(0), 1),
        );
        Self {
            lengths,
            sending: first,
            receiving: first,
        }
    }

    /// Moves an end on to its next message if its current one is complete.
    fn next(lengths: &[usize], (index, message): &mut (usize, TransferProgress)) {
        *index += 1;
        *message = TransferProgress::new(lengths.get(*index).copied().unwrap_or(0), 1);
    }

    /// Sends as much as possible; returns whether anything was sent.
    fn send(&mut self, from: &mut Channels, to: usize) -> bool {
        let (index, message) = &mut self.sending;
        if *index == self.lengths.len() {
            return false;
        }
        let mut expected = message.bytes_done();
        let before = expected;
        let is_over = from.send(to, message, |offset, piece| {
            assert_eq!(offset, expected);
            assert_eq!(piece.as_ptr().addr() % 16, 0);
            expected += piece.len();
            for (at, byte_at) in piece.iter_mut().enumerate() {
                *byte_at = byte(*index, offset + at);
            }
        });
        if is_over {
            Self::next(&self.lengths, &mut self.sending);
        }
        expected > before || is_over
    }

    /// Receives as much as possible; returns whether anything arrived.
    fn receive(&mut self, at: &mut Channels, from: usize) -> bool {
        let (index, message) = &mut self.receiving;
        if *index == self.lengths.len() {
            return false;
        }
        let mut expected = message.bytes_done();
        let before = expected;
        let is_over = at.receive(from, message, |offset, piece| {
            assert_eq!(offset, expected);
            expected += piece.len();
            let wrong =
                (0..piece.len()).find(|&place| piece[place] != byte(*index, offset + place));
            assert_eq!(wrong, None, "message {index} at {offset}");
        });
        let is_over = is_over.unwrap();
        if is_over {
            Self::next(&self.lengths, &mut self.receiving);
        }
        expected > before || is_over
    }

    fn is_over(&self) -> bool {
        self.receiving.0 == self.lengths.len()
    }
}

/// Checks that all messages of both directions arrive, in any order in which the two ranks proceed.
fn check(limit: usize, there: Vec<usize>, back: Vec<usize>, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let [mut first, mut second] = two(limit);
    let [mut there, mut back] = [there, back].map(Direction::new);
    let mut in_vain = 0;
    while !there.is_over() || !back.is_over() {
        let moved = match random.u8(0..4) {
            0 => there.send(&mut first, 1),
            1 => there.receive(&mut second, 0),
            2 => back.send(&mut second, 0),
            _ => back.receive(&mut first, 1),
        };
        in_vain = if moved { 0 } else { in_vain + 1 };
        assert!(in_vain < 1000, "seed {seed}: both wait for ever");
    }
}

/// Sends a long message and returns whether the receiver has read it in this rank's memory. The receiver wants it at an
/// address, or in pieces.
fn send_long(ranks: &mut [Channels; 2], index: usize, is_stored: bool) -> bool {
    const LENGTH: usize = 300_000;
    let source: Vec<u8> = (0..LENGTH).map(|at| byte(index, at)).collect();
    let (mut target, mut pieces) = (vec![0; LENGTH], vec![0; LENGTH]);
    let mut sending = TransferProgress::new(LENGTH, 1000).starting_now();
    sending = sending.readable_at(source.as_ptr(), true);
    let mut receiving = TransferProgress::new(LENGTH, 1000);
    if is_stored {
        // SAFETY: as long as the message, and used again only at the end.
        receiving = unsafe { receiving.writable_at(target.as_mut_ptr()) };
    }
    let [first, second] = ranks;
    let mut is_read = true;
    let mut is_sent = false;
    let mut is_over = false;
    while !(is_sent && is_over) {
        is_sent |= first.send(1, &mut sending, |offset, piece| {
            is_read = false;
            piece.copy_from_slice(&source[offset..][..piece.len()]);
        });
        is_over |= second
            .receive(0, &mut receiving, |offset, piece| {
                assert!(!(is_stored && is_read), "read, and not stored directly");
                assert_eq!(piece.len() % 1000, 0);
                pieces[offset..][..piece.len()].copy_from_slice(piece);
            })
            .unwrap();
    }
    let found = if is_stored && is_read {
        &target
    } else {
        &pieces
    };
    assert!(*found == source, "message {index}");
    is_read
}

/// Whichever method takes less time, both are tried.
#[test]
fn some_long_messages_are_read_in_the_memory_of_their_sender() {
    for is_stored in [false, true] {
        let mut ranks = two(64 << 20);
        let read: Vec<bool> = (0..21)
            .map(|index| send_long(&mut ranks, index, is_stored))
            .collect();
        assert_eq!(read, [[false; 13].as_slice(), &[true; 8]].concat());
    }
}

#[test]
fn offers_of_another_length_are_errors() {
    let mut ranks = two(64 << 20);
    (0..13).for_each(|index| {
        send_long(&mut ranks, index, false);
    });
    let source = vec![0; 300_000];
    for expected in [0, 8, 299_999, 300_001] {
        let mut message = TransferProgress::new(300_000, 1).readable_at(source.as_ptr(), true);
        ranks[0].send(1, &mut message, |_, _| panic!("it is offered"));
        let mut received = TransferProgress::new(expected, 1);
        let outcome = ranks[1].receive(0, &mut received, |_, _| ());
        assert_eq!(outcome, Err(Mismatch), "{expected}");
        let packet_outcome = ranks[1].peer(0).receive_packet(expected, |_| Ok(()));
        assert_eq!(packet_outcome, Err(Mismatch), "{expected}");
    }
}

const LIMITS: [usize; 3] = [64 << 20, 100 << 10, 20 << 10];

#[test]
fn messages_of_every_length_arrive_in_order() {
    let lengths = [
        0,
        1,
        8,
        48,
        49,
        111,
        112,
        113,
        128,
        255,
        256,
        257,
        1000,
        4095,
        4096,
        4097,
        10_000,
        32_767,
        32_768,
        32_769,
        100_000,
        1 << 20,
        0,
        0,
        3_000_001,
        7,
    ];
    for limit in LIMITS {
        for seed in 0..3 {
            let mut back = lengths.to_vec();
            back.reverse();
            check(limit, lengths.to_vec(), back, seed);
        }
    }
}

#[test]
fn messages_of_random_lengths_arrive() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut lengths = |count| {
            let mut length = |_| {
                let limit = 1 << random.u32(0..15);
                random.usize(0..limit)
            };
            (0..count).map(&mut length).collect::<Vec<_>>()
        };
        let (there, back) = (lengths(200), lengths(100));
        check(LIMITS[seed as usize % LIMITS.len()], there, back, seed);
    }
}

/// Answers in packets must not replace the answers in their own line, because the sender does not read the packets of
/// the opposite channel while it waits.
#[test]
fn a_sender_that_does_not_receive_is_answered() {
    for stride in 1..=20 {
        let [mut first, mut second] = two(1 << 20);
        let (mut sent, mut received) = (0, 0);
        for _ in 0..5 {
            // Sends until there is no room left.
            while first.send(1, &mut TransferProgress::new(8, 1), |_, piece| {
                piece.fill(1)
            }) {
                sent += 1;
            }
            while received < sent {
                for _ in 0..stride.min(sent - received) {
                    let mut message = TransferProgress::new(8, 1);
                    assert_eq!(second.receive(0, &mut message, |_, _| ()), Ok(true));
                    received += 1;
                }
                second.send(0, &mut TransferProgress::new(0, 1), |_, _| ());
            }
            let mut message = TransferProgress::new(8, 1);
            assert!(first.send(1, &mut message, |_, piece| piece.fill(1)));
            sent += 1;
        }
    }
}

#[test]
fn units_are_not_split() {
    let layout = SegmentLayout::within_limit(2, 1 << 20).unwrap();
    for unit in [1, 3, 16, 24, 112, 113, 1000, 5000, layout.largest_unit()] {
        let [mut first, mut second] = two(1 << 20);
        for length in [unit, 2 * unit, 13 * unit, 100 * unit] {
            let [mut sending, mut receiving] = [TransferProgress::new(length, unit); 2];
            let mut is_over = false;
            while !is_over {
                first.send(1, &mut sending, |_, piece| {
                    assert_eq!(piece.len() % unit, 0, "{length} of {unit}");
                });
                let taken = second.receive(0, &mut receiving, |offset, piece| {
                    assert_eq!((offset % unit, piece.len() % unit), (0, 0));
                });
                is_over = taken.unwrap();
            }
        }
    }
}

#[test]
fn longer_units_are_split() {
    let [mut first, mut second] = two(20 << 10);
    let length = 3 * first.layout().largest_unit();
    let [mut sending, mut receiving] = [TransferProgress::new(length, length); 2];
    assert!(first.send(1, &mut sending, |_, piece| piece.fill(7)));
    let mut found = 0;
    let take = |_: usize, piece: &[u8]| found += piece.iter().filter(|&&byte| byte == 7).count();
    assert_eq!(second.receive(0, &mut receiving, take), Ok(true));
    assert_eq!(found, length);
}

#[test]
fn a_length_that_differs_from_the_sender_is_an_error() {
    for (sent, expected) in [
        (8, 16),
        (16, 8),
        (0, 8),
        (8, 0),
        (5000, 8),
        (5000, 4096),
        (4096, 5000),
        (8, 5000),
    ] {
        let [mut first, mut second] = two(1 << 20);
        assert!(first.send(1, &mut TransferProgress::new(sent, 1), |_, _| ()));
        let mut message = TransferProgress::new(expected, 1);
        let outcome = second.receive(0, &mut message, |_, _| ());
        assert_eq!(outcome, Err(Mismatch), "{sent} instead of {expected}");
        if MessageSize::new(expected, 1).is_packet() {
            let [mut sender, mut receiver] = two(1 << 20);
            assert!(sender.send(1, &mut TransferProgress::new(sent, 1), |_, _| ()));
            let packet_outcome = receiver.peer(0).receive_packet(expected, |_| Ok(()));
            assert_eq!(
                packet_outcome,
                Err(Mismatch),
                "{sent} instead of {expected}"
            );
        }
    }
}

#[test]
fn single_packets_are_messages() {
    for length in [0, 1, 8, 112] {
        let [mut first, mut second] = two(1 << 20);
        let message = TransferProgress::new(length, 1);
        let fill = |packet: &mut [u8]| packet.fill(7);
        let mut sent = 0;
        while first.peer(1).send_packet(length, fill) {
            sent += 1;
        }
        assert!(sent > 1, "there is room for several");
        let mut lengths = Vec::new();
        let is_right = |piece: &[u8]| piece.iter().all(|byte| *byte == 7);
        let has_come = second.receive(0, &mut message.clone(), |_, piece| {
            assert!(is_right(piece));
            lengths.push(piece.len());
        });
        assert_eq!((has_come, &lengths[..]), (Ok(true), &[length][..]));
        for _ in 1..sent {
            let packet_has_come = second.peer(0).receive_packet(length, |packet| {
                assert!(is_right(packet));
                Ok::<(), Mismatch>(())
            });
            assert_eq!(packet_has_come, Ok(true));
        }
        let has_more = second.peer(0).receive_packet(length, |_| Ok(()));
        assert_eq!(has_more, Ok::<bool, Mismatch>(false));
        let is_sent = first.peer(1).send_packet(length, fill);
        assert!(is_sent, "there is room again");
    }
    assert!(MessageSize::new(112, 1).is_packet() && !MessageSize::new(113, 1).is_packet());
}

#[test]
#[should_panic(expected = "no channel to itself")]
fn there_is_no_channel_from_a_rank_to_itself() {
    let [mut first, _] = two(1 << 20);
    first.send(0, &mut TransferProgress::new(0, 1), |_, _| ());
}

/// With any contents of the memory, pieces are no longer than the messages, and no other memory is accessed.
#[test]
fn overwritten_memory_causes_no_wrong_access() {
    // The buffers are shorter than some messages.
    let layout = SegmentLayout::within_limit(2, 14 << 10).unwrap();
    assert!(layout.largest_unit() < 1000);
    let mut outcomes = [0; 3];
    let source = vec![0xff; 300_000];
    for seed in 0..2000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let segment = SharedSegment::create(layout.bytes()).unwrap();
        let opened = SharedSegment::open(&segment.ticket()).unwrap();
        let bytes = segment.ticket().to_bytes();
        let descriptor = u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        let mut channels = [segment, opened]
            .into_iter()
            .zip(0..)
            .map(|(segment, rank)| Channels::new(segment, layout, rank).unwrap())
            .collect::<Vec<_>>();
        let file = format!("/proc/self/fd/{descriptor}");
        let file = File::options().write(true).open(file).unwrap();
        for _ in 0..50 {
            // Overwrites slots and answers, which are at the start of each rank's part, often with a number that is
            // expected.
            let head = random.u64(0..2) * (layout.bytes() / 2) as u64 + random.u64(0..5) * 128;
            let word = random.u64(..) >> [0, 61][random.usize(0..2)];
            let length = match random.u8(0..8) {
                // An offer.
                0 => 1 << 30,
                _ => (random.u32(..) >> random.u32(0..32)) | (random.u32(0..2) << 31),
            };
            file.write_at(&word.to_ne_bytes(), head).unwrap();
            file.write_at(&length.to_ne_bytes(), head + 8).unwrap();
            // Overwrites the number of a buffer, or an offer, or how much of it has been read.
            let field = random.u64(..) >> [0, 44, 60][random.usize(0..3)];
            file.write_at(&field.to_ne_bytes(), head + 8 * random.u64(1..8))
                .unwrap();
            let rank = random.usize(0..2);
            let message_length = match random.u8(0..16) {
                0 => source.len(),
                _ => random.usize(0..2000) >> random.u32(0..12),
            };
            let mut message =
                TransferProgress::new(message_length, 1).readable_at(source.as_ptr(), true);
            let piece_is_inside = |offset: usize, piece: usize| {
                assert!(offset + piece <= message_length && piece <= layout.largest_unit());
            };
            if random.bool() {
                channels[rank].send(1 - rank, &mut message, |offset, piece| {
                    piece_is_inside(offset, piece.len());
                    piece.fill(0xff);
                });
            } else {
                let outcome = channels[rank].receive(1 - rank, &mut message, |offset, piece| {
                    piece_is_inside(offset, piece.len());
                    std::hint::black_box(piece.iter().fold(0, |sum, &byte| sum ^ byte));
                });
                outcomes[outcome.map_or(2, usize::from)] += 1;
            }
        }
    }
    // All outcomes occur.
    assert!(outcomes.iter().all(|&count| count > 100), "{outcomes:?}");
}

/// A message of equal bytes from the first rank to another, and the progress of both ends.
struct Copy {
    to: usize,
    byte: u8,
    sending: TransferProgress,
    receiving: TransferProgress,
}

impl Copy {
    fn new(to: usize, byte: u8, message: TransferProgress) -> Self {
        Self {
            to,
            byte,
            sending: message,
            receiving: message,
        }
    }

    /// Sends as much as possible; returns the number of bytes written to shared memory.
    fn send(&mut self, ranks: &mut [Channels]) -> usize {
        let mut written = 0;
        ranks[0].send(self.to, &mut self.sending, |_, piece| {
            piece.fill(self.byte);
            written += piece.len();
        });
        written
    }

    fn receive(&mut self, ranks: &mut [Channels]) {
        let is_right = |_: usize, piece: &[u8]| {
            assert!(piece.iter().all(|&found| found == self.byte));
        };
        let is_over = ranks[self.to].receive(0, &mut self.receiving, is_right);
        assert_eq!(is_over, Ok(self.receiving.is_over()));
    }
}

#[test]
fn data_for_several_ranks_is_written_once() {
    for (length, ranks) in [(5000, 3), (100_000, 4), (1 << 20, 7), (1 << 20, 2)] {
        let mut ranks = several(ranks, 4 << 20);
        for byte in 1..4 {
            let stage = ranks[0].begin_stage();
            let message = TransferProgress::new(length, 8).of_stage(stage);
            let copies = (1..ranks.len()).map(|to| Copy::new(to, byte, message));
            let mut copies: Vec<_> = copies.collect();
            let mut written = 0;
            while !copies.iter().all(|copy| copy.receiving.is_over()) {
                written += copies
                    .iter_mut()
                    .map(|copy| copy.send(&mut ranks))
                    .sum::<usize>();
                copies.iter_mut().for_each(|copy| copy.receive(&mut ranks));
            }
            assert_eq!(written, length);
        }
    }
}

/// Late ranks keep their messages waiting, but do not keep other ranks from receiving theirs.
#[test]
fn a_message_arrives_even_if_others_do_not() {
    const LENGTH: usize = 100_000;
    for (ranks, limit) in [(3, 1 << 20), (7, 1 << 20), (7, 300 << 10), (12, 8 << 20)] {
        for has_stage in [false, true] {
            let mut ranks = several(ranks, limit);
            let last = ranks.len() - 1;
            for turn in 0..3 {
                let stage = if has_stage { ranks[0].begin_stage() } else { 0 };
                let message = TransferProgress::new(LENGTH, 8).of_stage(stage);
                let byte = |to| if has_stage { turn } else { turn ^ to as u8 };
                let copies = (1..=last).map(|to| Copy::new(to, byte(to), message));
                let mut copies: Vec<_> = copies.collect();
                let mut looks = 0;
                while !copies[last - 1].receiving.is_over() {
                    copies.iter_mut().for_each(|copy| {
                        copy.send(&mut ranks);
                    });
                    copies[last - 1].receive(&mut ranks);
                    looks += 1;
                    assert!(looks < 2 * LENGTH / 100, "{last} ranks, {limit} bytes");
                }
                while !copies.iter().all(|copy| copy.receiving.is_over()) {
                    for copy in &mut copies {
                        copy.send(&mut ranks);
                        copy.receive(&mut ranks);
                    }
                }
            }
        }
    }
}
