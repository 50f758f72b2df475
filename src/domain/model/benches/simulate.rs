//! The speed and the memory of simulations of schedules.
//!
//! `cargo bench -p model --bench simulate` prints a line for each case: the messages, the seconds for making the
//! programs of all ranks, the seconds for everything, these programs included, messages per second for everything, and
//! without the making of programs. Seconds are medians of processor time where the system provides it, so that other
//! work on the machine counts little. Words after `--` limit it to the cases with these words in their names. The first
//! case is run once and prints the memory per rank; the last line prints the peak memory of all cases that were run.
//! `plain` is a machine on which messages meet only at the ports of wide rounds; on the `contended` one short messages
//! are eager and the ranks of a node share its port, so that all go through the agenda.

use std::time::Instant;

use model::{Link, Machine, PostAhead, Setting, Topology, simulate};
use schedule::{Parameters, Request, Schedule};
use vocabulary::Placement;

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
