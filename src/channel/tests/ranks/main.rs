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
    let layout = SegmentLayout::within(ranks, limit.parse()?).ok_or("the limit is too low")?;
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
        if is_common(round) {
            let stage = self.channels.stage();
            for (message, ..) in &mut sends {
                *message = message.of_stage(stage);
            }
        }
        let mut recvs: Vec<_> = self.messages(round, |_, to| to == rank).collect();
        let mut turns = 0;
        while !(sends.is_empty() && recvs.is_empty()) {
            turns += 1;
            self.delay(turns);
            let channels = &mut self.channels;
            sends.retain_mut(|(message, to, content)| {
                !channels.send(*to, message, |offset, piece| {
                    let end = offset + piece.len();
                    let bytes: Vec<u8> = (offset..end).map(|at| byte_of(*content, at)).collect();
                    piece.copy_from_slice(&bytes);
                })
            });
            let mut outcome = Ok(());
            recvs.retain_mut(|(message, from, content)| {
                let mut is_right = true;
                let is_over = channels.receive(*from, message, |offset, piece| {
                    let mut bytes = piece.iter().enumerate();
                    is_right &= bytes.all(|(at, &byte)| byte == byte_of(*content, offset + at));
                });
                if !is_right || is_over.is_err() {
                    outcome = Err(format!(
                        "round {round}: rank {rank} got something else from {from}"
                    ));
                }
                is_over == Ok(false)
            });
            outcome?;
        }
        Ok(())
    }

    /// The messages of a round that this rank sends or receives, each with the other rank and its content.
    fn messages(
        &self,
        round: u64,
        is_mine: impl Fn(usize, usize) -> bool,
    ) -> impl Iterator<Item = (TransferProgress, usize, u64)> {
        let ranks = self.channels.ranks();
        let pairs = (0..ranks).flat_map(move |from| (0..ranks).map(move |to| (from, to)));
        let (seed, rank) = (self.seed, self.rank);
        pairs.filter_map(move |(from, to)| {
            let name = (round * ranks as u64 + from as u64) * ranks as u64 + to as u64;
            let is_common = is_common(round);
            let of = if is_common { round + from as u64 } else { name };
            let mut random = Random(seed ^ (of << 8));
            let length = random.next() % (1 << (random.next() % 18));
            let is_sent = from != to && !random.next().is_multiple_of(4) && is_mine(from, to);
            let other = if from == rank { to } else { from };
            is_sent.then(|| {
                (
                    TransferProgress::new(length as usize, 1),
                    other,
                    random.next(),
                )
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
