//! How fast schedules are simulated, and in how much memory.
//!
//! `cargo bench -p model --bench simulate` prints a line a case: messages, the seconds for planning
//! and simulating them, the fastest of several runs, and messages per second. The first case is run
//! once, and says how much memory a rank takes. `plain` is a machine on which messages meet only at
//! the ports of wide rounds; on the `contended` one short messages are eager and the ranks of a node
//! share its port, so that all go through the agenda.

use std::time::Instant;

use model::{Link, Machine, Placement, Setting, Topology, simulate};
use schedule::{Parameters, Request, Schedule};

/// Runs a case; the fastest is printed.
const RUNS: u32 = 5;

fn machine() -> Machine {
    let link = Link {
        alpha: 2e-6,
        overhead: None,
        beta: 1e-10,
        eager_limit: None,
    };
    Machine {
        name: "bench".to_owned(),
        ranks_per_node: 1,
        network: Some(link),
        node: Some(link),
        injection_beta: None,
        gamma: Some(1e-10),
        copy: Some(5e-11),
        noise: None,
    }
}

/// The machine with all that makes messages be in each other's way.
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

fn case(
    label: &str,
    machine: &Machine,
    name: &str,
    ranks: u32,
    units: u64,
    blocks: u32,
    runs: u32,
) {
    let Some(algorithm) = schedule::find(name) else {
        println!("{name} is not registered");
        return;
    };
    let parameters = match blocks {
        0 => Parameters::default(),
        _ => Parameters::blocks(blocks),
    };
    let request = Request {
        units,
        parameters,
        ..Request::ranks(ranks)
    };
    let setting = Setting {
        machine,
        topology: Topology::of_ranks(ranks, 16, Placement::Block),
        unit_bytes: 8,
    };
    let mut fastest = f64::INFINITY;
    let mut messages = 0;
    for _ in 0..runs {
        let start = Instant::now();
        let simulated =
            Schedule::new(algorithm, &request).map(|schedule| simulate(&schedule, &setting));
        match simulated {
            Ok(Ok(simulation)) => messages = simulation.messages,
            other => {
                println!("{name}: {other:?}");
                return;
            }
        }
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    println!(
        "{label:10} {name:28} {ranks:8} ranks {messages:9} messages {fastest:8.3} s {:6.1} million/s",
        messages as f64 / fastest / 1e6
    );
}

/// The most memory that the process has had, in bytes.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

fn main() {
    let (plain, contended) = (machine(), contended());
    let before = peak_memory();
    let ranks = 1 << 20;
    case("plain", &plain, "bcast/binomial", ranks, 128, 0, 1);
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        let each = (after - before) / u64::from(ranks);
        println!("           {each} bytes a rank");
    }
    for (label, machine, runs) in [("plain", &plain, RUNS), ("contended", &contended, 3)] {
        case(label, machine, "bcast/binomial", ranks, 128, 0, runs);
        case(label, machine, "bcast/binomial", 1 << 16, 128, 0, runs);
        case(label, machine, "bcast/chain", 1024, 1 << 20, 1000, runs);
        case(
            label,
            machine,
            "bcast/binary_pipelined",
            1023,
            1 << 20,
            1000,
            runs,
        );
        case(
            label,
            machine,
            "reduce/binary_pipelined",
            1023,
            1 << 20,
            1000,
            runs,
        );
        case(
            label,
            machine,
            "allreduce/dual_root",
            1022,
            1 << 20,
            1000,
            runs,
        );
        case(label, machine, "allreduce/ring", 1024, 1 << 20, 0, runs);
        case(label, machine, "allgather/ring", 1024, 64, 0, runs);
        case(
            label,
            machine,
            "gather/linear_nonblocking",
            ranks,
            8,
            0,
            runs,
        );
    }
}
