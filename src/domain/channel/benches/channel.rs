//! The cost of messages between two processes through channels, beside its lower bounds: the time in which two cores
//! exchange a cache line, in which both write data where the other one has read, and in which each reads what the other
//! one has just written.
//!
//! `cargo bench -p channel` runs it on the first two cores. Times are medians over turns in microseconds; all columns
//! of a row are measured in turn. *line* is the exchange of a cache line. An *exchange* is one message each way at
//! once, as in an allreduce; *ping-pong* is half of a round trip; *stream* is one of many messages in one direction;
//! *write* is the time in which both processes at once copy as many bytes from their own memory to shared memory that
//! the other one has read before; *fetch* is the time in which each then copies the other's bytes to its own memory.
//! Both use `memcpy`. Lines that another core has read must be taken from its cache before they are written, and what
//! another core has written comes from its cache unless it is too long. An exchange consists of one write and one
//! fetch. *alone* is the time of a fetch while the other process waits, as in a broadcast of data that have just been
//! written.

use std::fs::File;
use std::process::{Child, Command};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use channel::{Channels, SegmentLayout, SharedSegment, Ticket, TransferProgress};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use rustix::mm::{MapFlags, ProtFlags};

type Error = Box<dyn std::error::Error>;

/// Tickets of the channels' segment and of the lines', for the second process.
const TICKETS: &str = "COLLTUNE_BENCH_TICKETS";
const LIMIT: usize = 64 << 20;
const TURNS: usize = 31;
/// The longest message.
const MOST: usize = 4 << 20;
const SIZES: [usize; 11] = [
    0,
    8,
    64,
    512,
    1 << 10,
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    MOST,
];

fn main() -> Result<(), Error> {
    let layout = SegmentLayout::within_limit(2, LIMIT).ok_or("no layout")?;
    let Ok(tickets) = std::env::var(TICKETS) else {
        return first(layout);
    };
    let tickets = tickets.split(',').map(ticket);
    let [segment, lines] = &tickets.collect::<Result<Vec<_>, _>>()?[..] else {
        return Err("two tickets".into());
    };
    let channels = Channels::new(SharedSegment::open(segment)?, layout, 1)?;
    measure(Node::new(channels, 1, Lines::of(lines)?)?);
    Ok(())
}

fn first(layout: SegmentLayout) -> Result<(), Error> {
    let segment = SharedSegment::create(layout.bytes())?;
    let lines = SharedSegment::create(Lines::BYTES)?;
    let tickets = [&segment, &lines].map(|segment| {
        let bytes = segment.ticket().to_bytes();
        bytes.map(|byte| format!("{byte:02x}")).concat()
    });
    let lines_here = Lines::of(&lines.ticket())?;
    let channels = Channels::new(segment, layout, 0)?;
    let mut second = Command::new(std::env::current_exe()?);
    second.env(TICKETS, tickets.join(","));
    let mut second = Second(second.spawn()?);
    let node = Node::new(channels, 0, lines_here)?;
    measure(node);
    second.0.wait()?;
    Ok(())
}

/// The other process, which is killed when dropped because it would wait forever if this one failed.
struct Second(Child);

impl Drop for Second {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

fn ticket(digits: &str) -> Result<Ticket, Error> {
    let mut bytes = [0; Ticket::BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair)?, 16)?;
    }
    Ok(Ticket::from_bytes(bytes))
}

/// One cache line for each process, and data areas after them.
struct Lines(NonNull<[Line; 2]>);

#[repr(align(128))]
struct Line(AtomicU64);

impl Lines {
    /// Not at the start of a page, where the other vectors begin: some processors copy slowly if a target begins just
    /// behind its source within a page.
    const DATA: usize = 4096 + 2048;
    const BYTES: usize = Self::DATA + 2 * MOST;

    fn of(ticket: &Ticket) -> Result<Self, Error> {
        let bytes = ticket.to_bytes();
        let [process, descriptor] = [0, 4]
            .map(|at| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
        let file = format!("/proc/{process}/fd/{descriptor}");
        let file = File::options().read(true).write(true).open(file)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory, which is kept until the process ends.
        let lines = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                Self::BYTES,
                protection,
                MapFlags::SHARED,
                file,
                0,
            )?
        };
        Ok(Self(NonNull::new(lines.cast()).ok_or("no memory")?))
    }

    fn of_rank(&self, rank: usize) -> &AtomicU64 {
        // SAFETY: mapped as long as the process runs, aligned to a page.
        unsafe { &self.0.as_ref()[rank].0 }
    }

    /// The area in which a process writes data.
    fn data_of(&self, rank: usize) -> *mut u8 {
        // SAFETY: within the memory that was mapped.
        unsafe { self.0.as_ptr().cast::<u8>().add(Self::DATA + rank * MOST) }
    }
}

struct Node {
    channels: Channels,
    rank: usize,
    lines: Lines,
    line: u64,
    source: Vec<u8>,
    target: Vec<u8>,
}

impl Node {
    fn new(channels: Channels, rank: usize, lines: Lines) -> Result<Self, Error> {
        let mut cores = CpuSet::new();
        cores.set(rank)?;
        sched_setaffinity(Pid::from_raw(0), &cores)?;
        Ok(Self {
            channels,
            rank,
            lines,
            line: 0,
            source: vec![1; MOST],
            target: vec![2; MOST],
        })
    }

    /// Each process writes its line and waits for the other's.
    fn exchange_lines(&mut self) {
        self.line += 1;
        let [mine, other] = [self.rank, 1 - self.rank].map(|rank| self.lines.of_rank(rank));
        mine.store(self.line, Ordering::Release);
        while other.load(Ordering::Acquire) < self.line {
            std::hint::spin_loop();
        }
    }

    fn send(&mut self, message: &mut TransferProgress) -> bool {
        let source = &self.source;
        self.channels.send(1 - self.rank, message, |offset, piece| {
            piece.copy_from_slice(&source[offset..offset + piece.len()]);
        })
    }

    fn receive(&mut self, message: &mut TransferProgress) -> bool {
        let target = &mut self.target;
        let taken = self
            .channels
            .receive(1 - self.rank, message, |offset, piece| {
                let target = &mut target[offset..][..piece.len()];
                // SAFETY: both are as long, and apart.
                unsafe {
                    channel::copy_from_shared(piece.as_ptr(), target.as_mut_ptr(), piece.len())
                };
            });
        taken.expect("both have the same length")
    }

    fn send_all(&mut self, bytes: usize) {
        let mut message = TransferProgress::new(bytes, 1);
        while !self.send(&mut message) {
            std::hint::spin_loop();
        }
    }

    fn receive_all(&mut self, bytes: usize) {
        let mut message = TransferProgress::new(bytes, 1);
        while !self.receive(&mut message) {
            std::hint::spin_loop();
        }
    }

    fn exchange(&mut self, bytes: usize) {
        let [mut sending, mut receiving] = [TransferProgress::new(bytes, 1); 2];
        let mut is_sent = self.send(&mut sending);
        while !self.receive(&mut receiving) {
            is_sent = is_sent || self.send(&mut sending);
            std::hint::spin_loop();
        }
        while !is_sent {
            is_sent = self.send(&mut sending);
        }
    }

    fn ping_pong(&mut self, bytes: usize) {
        if self.rank == 0 {
            self.send_all(bytes);
            self.receive_all(bytes);
        } else {
            self.receive_all(bytes);
            self.send_all(bytes);
        }
    }

    fn pass(&mut self, bytes: usize) {
        if self.rank == 0 {
            self.send_all(bytes);
        } else {
            self.receive_all(bytes);
        }
    }

    /// The times in microseconds in which this process writes bytes, and then copies bytes that the other one has
    /// written. With 0 bytes it only waits for the other one.
    fn write_and_fetch(&mut self, written: usize, fetched: usize) -> [f64; 2] {
        let data = [self.rank, 1 - self.rank].map(|rank| self.lines.data_of(rank));
        self.exchange_lines();
        let begin = Instant::now();
        // SAFETY: as long as the longest message; a process writes its own part, which the other one reads only
        // between two exchanges of lines.
        unsafe { data[0].copy_from_nonoverlapping(self.source.as_ptr(), written) };
        let write = begin.elapsed();
        self.exchange_lines();
        let fetch_begin = Instant::now();
        // SAFETY: as above.
        unsafe { data[1].copy_to_nonoverlapping(self.target.as_mut_ptr(), fetched) };
        std::hint::black_box(&mut self.target);
        let fetch = fetch_begin.elapsed();
        self.exchange_lines();
        [write, fetch].map(|time| time.as_secs_f64() * 1e6)
    }

    /// The time in microseconds of one of many actions.
    fn time(&mut self, count: u32, mut act: impl FnMut(&mut Self)) -> f64 {
        self.exchange(0);
        let begin = Instant::now();
        (0..count).for_each(|_| act(self));
        // The time ends when both processes are done.
        self.exchange(0);
        begin.elapsed().as_secs_f64() * 1e6 / f64::from(count)
    }
}

fn measure(mut node: Node) {
    let is_first = node.rank == 0;
    if is_first {
        println!(
            "{:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "bytes", "line", "exchange", "ping-pong", "stream", "write", "fetch", "alone"
        );
    }
    for bytes in SIZES {
        let count = (4_000_000 / (bytes + 2000)).max(3) as u32;
        let mut columns: [Vec<f64>; 7] = Default::default();
        for _ in 0..TURNS {
            columns[0].push(node.time(500, Node::exchange_lines));
            columns[1].push(node.time(count, |node| node.exchange(bytes)));
            columns[2].push(node.time(count, |node| node.ping_pong(bytes)) / 2.0);
            columns[3].push(node.time(count, |node| node.pass(bytes)));
            let mut medians = |written, fetched| {
                let times: Vec<[f64; 2]> = (0..count)
                    .map(|_| node.write_and_fetch(written, fetched))
                    .collect();
                [0, 1].map(|at| median(&times.iter().map(|times| times[at]).collect::<Vec<_>>()))
            };
            let [write, fetch] = medians(bytes, bytes);
            let [_, fetch_alone] = if is_first {
                medians(0, bytes)
            } else {
                medians(bytes, 0)
            };
            for (column, time) in columns[4..].iter_mut().zip([write, fetch, fetch_alone]) {
                column.push(time);
            }
        }
        if is_first {
            let [line, exchange, ping_pong, stream, write, fetch, alone] =
                columns.map(|turns| median(&turns));
            println!(
                "{bytes:>8} {line:>9.3} {exchange:>9.3} {ping_pong:>9.3} {stream:>9.3} {write:>9.3} {fetch:>9.3} \
                 {alone:>9.3}"
            );
        }
    }
}

fn median(turns: &[f64]) -> f64 {
    statistics::median(turns).unwrap_or(f64::NAN)
}
