//! One of several processes that share a segment. The tests start it, read its progress from standard output and wait
//! for all ranks.
//!
//! usage: channel-ranks TICKET RANKS LIMIT RANK SEED ROUNDS, or channel-ranks create BYTES, which only tries to create
//! a segment.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use channel::{Channels, SegmentLayout, SharedSegment, Ticket, TransferProgress};

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("channel-ranks: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [create, bytes] = &arguments[..]
        && create == "create"
    {
        SharedSegment::create(bytes.parse()?)?;
        return Ok(tell("created")?);
    }
    let [ticket, ranks, limit, rank, seed, rounds] = &arguments[..] else {
        return Err("usage: channel-ranks TICKET RANKS LIMIT RANK SEED ROUNDS".into());
    };
    let (ranks, rank) = (ranks.parse()?, rank.parse()?);
    let layout =
        SegmentLayout::within_limit(ranks, limit.parse()?).ok_or("the limit is too low")?;
    let segment = SharedSegment::open(&Ticket::from_bytes(bytes(ticket)?))?;
    let channels = Channels::new(segment, layout, rank)?;
    tell("ready")?;
    io::stdin().read_exact(&mut [0])?;
    let mut node = Node {
        channels,
        rank,
        seed: seed.parse()?,
        random: Random(rank as u64 + 1),
    };
    node.channels.close_file();
    for round in 0..rounds.parse()? {
        node.round(round)?;
        if round == 10 {
            tell("under way")?;
        }
    }
    tell("done")?;
    Ok(())
}

fn tell(what: &str) -> io::Result<()> {
    let mut output = io::stdout();
    writeln!(output, "{what}")?;
    output.flush()
}

fn bytes(ticket: &str) -> Result<[u8; Ticket::BYTES], Error> {
    let mut bytes = [0; Ticket::BYTES];
    for (byte, digits) in bytes.iter_mut().zip(ticket.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits)?, 16)?;
    }
    Ok(bytes)
}

/// Numbers that look random (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

struct Message {
    progress: TransferProgress,
    /// The other rank.
    peer: usize,
    memory: Vec<u8>,
    content: u64,
}

struct Node {
    channels: Channels,
    rank: usize,
    seed: u64,
    random: Random,
}

impl Node {
    /// Exchanges random messages between all ranks, those of one round at once.
    fn round(&mut self, round: u64) -> Result<(), Error> {
        let rank = self.rank;
        let mut sends: Vec<_> = self.messages(round, |from, _| from == rank).collect();
        let mut recvs: Vec<_> = self.messages(round, |_, to| to == rank).collect();
        let stage = if is_common(round) {
            self.channels.begin_stage()
        } else {
            0
        };
        for message in &mut sends {
            let bytes = (0..message.memory.len()).map(|at| byte_of(message.content, at));
            message.memory = bytes.collect();
            let progress = message.progress.starting_now().of_stage(stage);
            message.progress = progress.readable_at(message.memory.as_ptr(), !recvs.is_empty());
        }
        for message in &mut recvs {
            message.progress = message.progress.starting_now();
            if message.content.is_multiple_of(2) {
                let address = message.memory.as_mut_ptr();
                // SAFETY: as long as the message, and used again only when that is over.
                message.progress = unsafe { message.progress.writable_at(address) };
            }
        }
        let mut turns = 0;
        while !(sends.is_empty() && recvs.is_empty()) {
            turns += 1;
            self.delay(turns);
            let channels = &mut self.channels;
            sends.retain_mut(|message| {
                let memory = &message.memory;
                !channels.send(message.peer, &mut message.progress, |offset, piece| {
                    piece.copy_from_slice(&memory[offset..][..piece.len()]);
                })
            });
            let mut outcome = Ok(());
            recvs.retain_mut(|message| {
                let address = message.memory.as_mut_ptr();
                let is_over = channels.receive(message.peer, &mut message.progress, |at, piece| {
                    // SAFETY: a part of the message, whose memory is as long.
                    unsafe { piece.as_ptr().copy_to(address.add(at), piece.len()) };
                });
                if is_over == Ok(false) {
                    return true;
                }
                let mut bytes = (0..).zip(&message.memory);
                let is_right = bytes.all(|(at, byte)| *byte == byte_of(message.content, at));
                if !is_right || is_over.is_err() {
                    let from = message.peer;
                    outcome = Err(format!(
                        "round {round}: rank {rank} got something else from {from}"
                    ));
                }
                false
            });
            outcome?;
        }
        Ok(())
    }

    /// The messages of a round that this rank sends or receives.
    fn messages(
        &self,
        round: u64,
        is_mine: impl Fn(usize, usize) -> bool,
    ) -> impl Iterator<Item = Message> {
        let ranks = self.channels.ranks();
        let pairs = (0..ranks).flat_map(move |from| (0..ranks).map(move |to| (from, to)));
        let (seed, rank) = (self.seed, self.rank);
        pairs.filter_map(move |(from, to)| {
            let name = (round * ranks as u64 + from as u64) * ranks as u64 + to as u64;
            let is_common = is_common(round);
            let of = if is_common { round + from as u64 } else { name };
            let mut random = Random(seed ^ (of << 8));
            let length = match round % 8 {
                // Some of these are read in the sender's memory.
                7 => 300_000 + random.next() % 300_000,
                _ => random.next() % (1 << (random.next() % 18)),
            } as usize;
            let is_sent = from != to && !random.next().is_multiple_of(4) && is_mine(from, to);
            let other = if from == rank { to } else { from };
            is_sent.then(|| Message {
                progress: TransferProgress::new(length, 1),
                peer: other,
                memory: vec![0; length],
                content: random.next(),
            })
        })
    }

    /// Continues at once, yields the core, or sleeps.
    fn delay(&mut self, turns: u32) {
        match self.random.next() % 512 {
            0 => std::thread::sleep(Duration::from_micros(self.random.next() % 300)),
            1..8 => std::thread::yield_now(),
            _ if turns > 200 => std::thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
    }
}

/// Whether each rank sends the same to all others in this round.
fn is_common(round: u64) -> bool {
    round % 3 == 1
}

/// The byte of a message's content.
fn byte_of(content: u64, offset: usize) -> u8 {
    (content
        .wrapping_add(offset as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        >> 56) as u8
}
