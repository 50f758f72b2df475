//! The speed and the memory of simulations of schedules.
//!
//! `cargo bench -p model --bench simulate` prints a line for each case: the messages, the seconds for making the
//! programs of all ranks, the seconds for everything, these programs included, messages per second for everything, and
//! without the making of programs. Seconds are medians of processor time where the system provides it, so that other
//! work on the machine counts little. Words after `--` limit it to the cases with these words in their names. The first
//! case is run once and prints the memory per rank; the last line prints the peak memory of all cases that were run.
//! `start` lines are for one rank of a million that starts a call, with all counts that it knows: the making of the schedule,
//! of the rank's program and memory layout, and of all its rounds, with the place of every message. They print the rank's
//! messages, seconds in all and for each message, and the most bytes of heap at a time, besides the counts that the caller
//! has. `plain` is a machine on which messages meet only at the ports of wide rounds; on the `contended` one short messages
//! are eager and the ranks of a node share its port, so that all go through the agenda.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use model::{Link, Machine, PostAhead, Setting, Topology, simulate};
use schedule::{Action, Distribution, OwnCounts, Parameters, Rank, Request, Round, Schedule};
use vocabulary::Placement;

/// Keeps count of the bytes of heap in use. Simulations allocate little, so this does not slow them down.
struct CountingAllocator;

static HEAP_BYTES: AtomicU64 = AtomicU64::new(0);
static MOST_HEAP_BYTES: AtomicU64 = AtomicU64::new(0);

fn count_allocated(bytes: usize) {
    let bytes = bytes as u64;
    let now = HEAP_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST_HEAP_BYTES.fetch_max(now, Ordering::Relaxed);
}

fn count_freed(bytes: usize) {
    HEAP_BYTES.fetch_sub(bytes as u64, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "allocators are unsafe to call")]
// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_allocated(layout.size());
        // SAFETY: the caller promises that the size of the layout is not zero, as `GlobalAlloc::alloc` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_allocated(layout.size());
        // SAFETY: the caller promises that the size of the layout is not zero, as `GlobalAlloc::alloc_zeroed` requires.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count_freed(layout.size());
        // SAFETY: the caller promises that `memory` comes from this allocator, thus from the system's, with this
        // layout, and is in use.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, length: usize) -> *mut u8 {
        // Linux moves the pages of long vectors, so that the old one and the new one are not in use together.
        count_freed(layout.size());
        count_allocated(length);
        // SAFETY: the caller promises that `memory` comes from this allocator, thus from the system's, with this
        // layout, and is in use, and that `length` is a valid size for it, not zero.
        unsafe { System.realloc(memory, layout, length) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The number of runs of each case.
const RUNS: usize = 5;

/// Ranks of the largest cases.
const MILLION: u32 = 1 << 20;

/// A call that is simulated: algorithm, ranks, units, blocks, 0 if it does not take any, and ranks of a node.
struct Case(&'static str, u32, u64, u32, u32);

const CASES: [Case; 29] = [
    Case("bcast/binomial", MILLION, 128, 0, 16),
    Case("bcast/binomial", 1 << 16, 128, 0, 16),
    Case("reduce/binomial", MILLION, 128, 0, 16),
    Case("gather/binomial", MILLION, 8, 0, 16),
    Case("scatter/binomial", MILLION, 8, 0, 16),
    Case("bcast/knomial", MILLION, 128, 0, 16),
    Case("bcast/mst", MILLION, 128, 0, 16),
    Case("bcast/binary_pipelined", MILLION, 128, 1, 16),
    Case("bcast/chain", 1024, 1 << 20, 1000, 16),
    Case("bcast/binary_pipelined", 1023, 1 << 20, 1000, 16),
    Case("reduce/binary_pipelined", 1023, 1 << 20, 1000, 16),
    Case("allreduce/dual_root", 1022, 1 << 20, 1000, 16),
    Case("allreduce/ring", 1024, 1 << 20, 0, 16),
    Case("allgather/ring", 1024, 64, 0, 16),
    Case("gather/linear_nonblocking", 1 << 14, 8, 0, 16),
    Case("gather/linear_nonblocking", 1 << 17, 8, 0, 16),
    Case("gather/linear_nonblocking", MILLION, 8, 0, 16),
    Case("scatter/linear_nonblocking", MILLION, 8, 0, 16),
    Case("bcast/linear_nonblocking", MILLION, 8, 0, 16),
    Case("bcast/linear", MILLION, 8, 0, 16),
    Case("allreduce/leaders", MILLION, 128, 0, 128),
    Case("allreduce/lanes", MILLION, 1 << 20, 0, 128),
    Case("alltoall/bruck", MILLION, 8, 0, 128),
    Case("alltoall/lanes", MILLION, 8, 0, 128),
    Case("alltoall/linear", 9600, 8, 0, 48),
    Case("alltoall/pairwise", 9600, 8, 0, 48),
    Case("barrier/dissemination", MILLION, 0, 0, 128),
    Case("scan/hillis_steele", MILLION, 128, 0, 128),
    Case("scan/linear", MILLION, 128, 0, 128),
];

/// Alltoalls of which one rank of a million starts its program.
const STARTED: [&str; 4] = [
    "alltoall/linear",
    "alltoall/pairwise",
    "alltoall/bruck",
    "alltoallv/linear",
];

/// The rank that starts its program; not the first one, which may be special.
const STARTING: Rank = 12_345;

/// Bytes of a block, on average.
const BLOCK_BYTES: u64 = 64;

/// What one rank of a million takes to start a call.
struct RankStart {
    seconds: f64,
    messages: u64,
    /// The most bytes of heap that the start had at a time.
    heap_bytes: u64,
}

impl RankStart {
    /// Starts the program of one rank with what that rank knows: the blocks that it sends to each rank and receives from
    /// each, where they differ in length.
    fn measure(name: &str) -> Result<Self, String> {
        let algorithm = schedule::find_algorithm(name).ok_or("not registered")?;
        let has_counts = algorithm.collective.has_block_counts();
        let counts: Vec<u64> = (0..MILLION)
            .filter(|_| has_counts)
            .map(|peer| Distribution::Skewed.block_count(BLOCK_BYTES, MILLION, STARTING, peer))
            .collect();
        let request = Request {
            units: BLOCK_BYTES,
            ..Request::among_ranks(MILLION)
        };
        let before = HEAP_BYTES.load(Ordering::Relaxed);
        MOST_HEAP_BYTES.store(before, Ordering::Relaxed);
        let start = Clock::start();
        let schedule = Schedule::new(algorithm, &request).map_err(|error| error.to_string())?;
        let layout = if has_counts {
            let own = OwnCounts::Blocks {
                sent: &counts,
                received: &counts,
            };
            schedule.layout_with_counts(STARTING, own)
        } else {
            Some(schedule.layout(STARTING))
        };
        let layout = layout.ok_or("the counts do not fit")?;
        let program = schedule.program(STARTING);
        let mut round = Round::default();
        let (mut messages, mut units) = (0, 0);
        for index in 0..program.rounds() {
            round.clear();
            program.round(index, &mut round);
            for action in round.actions() {
                if let Action::Send { span, .. } | Action::Recv { span, .. } = action {
                    let place = layout.locate(span).ok_or("a message out of bounds")?;
                    units += place.units();
                    messages += 1;
                }
            }
        }
        std::hint::black_box(units);
        Ok(Self {
            seconds: start.seconds(),
            messages,
            heap_bytes: MOST_HEAP_BYTES.load(Ordering::Relaxed) - before,
        })
    }

    fn print(name: &str, runs: usize) -> Result<(), String> {
        let starts: Result<Vec<Self>, String> = (0..runs).map(|_| Self::measure(name)).collect();
        let starts = starts?;
        let seconds = median(starts.iter().map(|start| start.seconds).collect());
        let Some(Self {
            messages,
            heap_bytes,
            ..
        }) = starts.last()
        else {
            return Ok(());
        };
        let nanoseconds = seconds * 1e9 / *messages as f64;
        let each = *heap_bytes as f64 / *messages as f64;
        println!(
            "{:10} {name:28} {MILLION:8} ranks {messages:9} messages {seconds:8.3} s {nanoseconds:6.1} ns each \
             {heap_bytes:10} bytes of heap, {each:6.1} each",
            "start"
        );
        Ok(())
    }
}

fn machine() -> Machine {
    let link = Link {
        alpha: 2e-6,
        overhead: None,
        beta: 1e-10,
        eager_limit: None,
        ..Link::default()
    };
    Machine {
        name: "bench".to_owned(),
        ranks_per_node: 1,
        network: Some(link.clone()),
        node: Some(link),
        shared: None,
        injection_beta: None,
        injection_gap: None,
        rails: None,
        post_ahead: PostAhead::None,
        gamma: Some(1e-10),
        copy: Some(5e-11),
        combining: Vec::new(),
        copying: Vec::new(),
        cache: None,
        noise: None,
    }
}

/// A machine with every property by which messages delay each other.
fn contended() -> Machine {
    let mut machine = machine();
    for link in [&mut machine.network, &mut machine.node]
        .into_iter()
        .flatten()
    {
        link.overhead = Some(5e-7);
        link.eager_limit = Some(1 << 13);
    }
    machine.injection_beta = Some(5e-11);
    machine
}

impl Case {
    fn schedule(&self) -> Result<Schedule, String> {
        let Self(name, ranks, units, blocks, _) = *self;
        let algorithm = schedule::find_algorithm(name).ok_or("not registered")?;
        let parameters = match blocks {
            0 => Parameters::default(),
            _ => Parameters::with_blocks(blocks),
        };
        let request = Request {
            units,
            parameters,
            placed: self.topology().placed(),
            ..Request::among_ranks(ranks)
        };
        Schedule::new(algorithm, &request).map_err(|error| error.to_string())
    }

    fn topology(&self) -> Topology {
        Topology::of_ranks(self.1, self.4, Placement::Block)
    }

    /// The seconds for making the programs of all ranks.
    fn plan(&self) -> Result<f64, String> {
        let start = Clock::start();
        let schedule = self.schedule()?;
        let rounds: u64 = (0..self.1)
            .map(|rank| schedule.program(rank).rounds())
            .sum();
        std::hint::black_box(rounds);
        Ok(start.seconds())
    }

    /// The seconds for everything, and the messages.
    fn run(&self, machine: &Machine) -> Result<(f64, u64), String> {
        let setting = Setting {
            machine,
            topology: self.topology(),
            unit_bytes: 8,
        };
        let start = Clock::start();
        let simulation =
            simulate(&self.schedule()?, &setting).map_err(|error| error.to_string())?;
        Ok((start.seconds(), simulation.messages))
    }

    fn print(&self, label: &str, machine: &Machine, runs: usize) -> Result<(), String> {
        let (mut planning, mut seconds, mut messages) = (Vec::new(), Vec::new(), 0);
        for _ in 0..runs {
            planning.push(self.plan()?);
            let (elapsed, count) = self.run(machine)?;
            seconds.push(elapsed);
            messages = count;
        }
        let [planning, seconds] = [planning, seconds].map(median);
        let Self(name, ranks, ..) = self;
        let rate = |taken: f64| messages as f64 / taken / 1e6;
        let (all, simulating) = (rate(seconds), rate(seconds - planning));
        println!(
            "{label:10} {name:28} {ranks:8} ranks {messages:9} messages {planning:8.3} s planning \
             {seconds:8.3} s {all:6.1} million/s, {simulating:5.1} without planning"
        );
        Ok(())
    }
}

/// A time: on the wall clock, and in nanoseconds of processor time given to this thread.
struct Clock(Instant, Option<u64>);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), given_nanoseconds())
    }

    /// The seconds since that time.
    fn seconds(&self) -> f64 {
        match (self.1, given_nanoseconds()) {
            (Some(before), Some(now)) => (now - before) as f64 / 1e9,
            _ => self.0.elapsed().as_secs_f64(),
        }
    }
}

/// The processor time of this thread, which Linux provides.
fn given_nanoseconds() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_unstable_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// The peak memory of the process in bytes.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let (plain, contended) = (machine(), contended());
    let before = peak_memory();
    CASES[0].print("plain", &plain, 1)?;
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        let each = (after - before) / u64::from(CASES[0].1);
        println!("           {each} bytes a rank");
    }
    let is_start_chosen = |name: &&&str| {
        words
            .iter()
            .all(|word| "start".contains(*word) || name.contains(*word))
    };
    for name in STARTED.iter().filter(is_start_chosen) {
        RankStart::print(name, RUNS)?;
    }
    for (label, machine) in [("plain", &plain), ("contended", &contended)] {
        let is_chosen = |case: &&Case| {
            let named = |word: &&String| label.contains(*word) || case.0.contains(*word);
            words.iter().all(named)
        };
        for case in CASES.iter().filter(is_chosen) {
            case.print(label, machine, RUNS)?;
        }
    }
    if let Some(peak) = peak_memory() {
        println!("           {} MiB at most", peak >> 20);
    }
    Ok(())
}
