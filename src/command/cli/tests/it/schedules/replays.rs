//! SimGrid, an independent simulator, replays the traces.

use std::process::Command;
use std::time::Duration;

use model::{Link, Machine, PostAhead, Setting, Topology};
use schedule::{ALGORITHMS, Parameter, Parameters, Request, Schedule, Unsupported, verify};
use testkit::process;

use super::words;
use crate::run::Place;

/// The latency of a message: that of two links of the platform.
const LATENCY_SECONDS: f64 = 2e-3;
const BYTES_PER_SECOND: f64 = 1e9;

/// Every host has a full-duplex link to one switch.
const PLATFORM: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="cluster" prefix="host" suffix="" radical="0-15" speed="1Gf" bw="1GBps" lat="1ms"
             core="1" sharing_policy="SPLITDUPLEX"/>
  </zone>
</platform>
"#;

/// A message takes its latency plus length / bandwidth, and occupies both ends for all of that time.
const MODEL: &str = "smpi/lat-factor:0:1 smpi/bw-factor:0:1 network/crosstraffic:0 \
    network/weight-S:0 network/TCP-gamma:1e30 surf/precision:1e-13 maxmin/precision:1e-9 \
    smpi/send-is-detached-thresh:0 smpi/async-small-thresh:0 smpi/host-speed:1e9";

/// A folder with the platform.
fn place() -> Option<Place> {
    testkit::require("smpirun", process::find_program("smpirun"))?;
    let place = Place::new();
    place.write("platform.xml", PLATFORM);
    Some(place)
}

/// Replays the traces that a list names; returns the simulated time in seconds.
#[track_caller]
fn replay(place: &Place, ranks: u32, list: &str) -> f64 {
    let mut command = Command::new("smpirun");
    command
        .args(["-no-privatize", "-np", &ranks.to_string()])
        .args(["-platform", "platform.xml", "-replay", list])
        .args(
            MODEL
                .split_whitespace()
                .map(|option| format!("--cfg={option}")),
        )
        .current_dir(place.path(""));
    let ended = process::run_to_end(&mut command, Duration::from_secs(60));
    let (status, log) = (ended.status, ended.out + &ended.err);
    // It exits with 0 even if the ranks wait for each other.
    assert!(
        status.success() && !log.contains("eadlock"),
        "{status}: {log}"
    );
    let (_, time) = log.split_once("Simulation time ").expect("a time");
    let time = time.lines().next().unwrap_or_default();
    time.trim().parse().unwrap()
}

/// Exports and replays; returns the simulated time in seconds.
#[track_caller]
fn simulate(place: &Place, ranks: u32, args: &str) -> f64 {
    let args = format!("schedule export {args} --ranks {ranks} --format simgrid --output traces");
    place.run(&words(&args)).good();
    replay(place, ranks, "traces/traces.txt")
}

#[track_caller]
fn about(seconds: f64, expected: f64) {
    let error = (seconds / expected - 1.0).abs();
    assert!(error < 0.02, "{seconds} s, not {expected} s");
}

/// Among them signals, and messages that wrap around: the subtree behind rank 6 ends with rank 0.
#[test]
fn if_only_messages_take_time_simgrid_counts_the_steps_of_every_algorithm() {
    let Some(place) = place() else { return };
    for algorithm in ALGORITHMS {
        let name = algorithm.name();
        let is_pipelined = algorithm.takes(Parameter::Blocks);
        let request = |ranks| Request {
            root: 1,
            units: 64,
            parameters: if is_pipelined {
                Parameters::with_blocks(2)
            } else {
                Parameters::default()
            },
            ..Request::among_ranks(ranks)
        };
        let ranks = match Schedule::new(algorithm, &request(7)) {
            Err(Unsupported::OddRanks { .. }) => 6,
            _ => 7,
        };
        let schedule = Schedule::new(algorithm, &request(ranks)).unwrap();
        let steps = verify::verify_schedule(&schedule).unwrap().tally.steps;

        let unit_bytes = if algorithm.collective.is_reduction() {
            4
        } else {
            1
        };
        let bytes = schedule.units() * unit_bytes;
        let blocks = if is_pipelined { "--blocks 2" } else { "" };
        let args = format!("{name} --root 1 --bytes {bytes} --distribution uniform {blocks}");
        let seconds = simulate(&place, ranks, &args);
        println!("{name}: {seconds} s, {steps} steps");
        about(seconds, steps as f64 * LATENCY_SECONDS);
    }
}

/// The machine that corresponds to the platform, the model and the traces.
fn machine() -> Machine {
    let link = Link {
        // A message has an envelope of 16 bytes.
        alpha: LATENCY_SECONDS + 16.0 / BYTES_PER_SECOND,
        overhead: None,
        beta: 1.0 / BYTES_PER_SECOND,
        eager_limit: None,
        ..Link::default()
    };
    Machine {
        name: "platform".to_owned(),
        ranks_per_node: 1,
        network: Some(link),
        node: None,
        shared: None,
        injection_beta: None,
        injection_gap: None,
        rails: None,
        post_ahead: PostAhead::None,
        // A flop a byte, and a nanosecond a flop.
        gamma: Some(1e-9),
        copy: None,
        combining: Vec::new(),
        copying: Vec::new(),
        cache: None,
        noise: None,
    }
}

/// Bytes, blocks and combinations cost as much as start-ups. If several messages need the same port, SimGrid shares its
/// bandwidth, and the simulators differ.
#[test]
fn if_no_port_is_shared_simgrid_agrees_with_our_simulator() {
    let Some(place) = place() else { return };
    let (mut compared, machine) = (0, machine());
    for algorithm in ALGORITHMS {
        let is_pipelined = algorithm.takes(Parameter::Blocks);
        let ranks = if algorithm.even_ranks { 6 } else { 7 };
        let (units, unit_bytes) = if algorithm.collective.is_reduction() {
            (840_000, 4)
        } else {
            (3_360_000, 1)
        };
        let request = Request {
            units,
            root: 1,
            parameters: if is_pipelined {
                Parameters::with_blocks(3)
            } else {
                Parameters::default()
            },
            ..Request::among_ranks(ranks)
        };
        let schedule = Schedule::new(algorithm, &request).unwrap();
        let setting = Setting {
            machine: &machine,
            topology: Topology::one_rank_per_node(ranks),
            unit_bytes,
        };
        let (ours, trace) = model::simulate_traced(&schedule, &setting, 10_000).unwrap();
        if trace
            .messages
            .iter()
            .any(|message| message.start > message.ready)
        {
            continue;
        }
        let blocks = if is_pipelined { "--blocks 3" } else { "" };
        let bytes = schedule.units() * unit_bytes;
        let args = format!("{algorithm} --root 1 --bytes {bytes} --distribution uniform {blocks}");
        let theirs = simulate(&place, ranks, &args);
        println!("{algorithm}: {theirs} s, ours {} s", ours.seconds);
        let error = (theirs / ours.seconds - 1.0).abs();
        assert!(
            error < 0.01,
            "{algorithm}: {theirs} s, ours {} s",
            ours.seconds
        );
        compared += 1;
    }
    assert!(compared > ALGORITHMS.len() * 3 / 4, "{compared}");
}

#[test]
fn if_bytes_take_time_too_blocks_and_combinations_count() {
    let Some(place) = place() else { return };
    let message = |bytes: f64| LATENCY_SECONDS + bytes / BYTES_PER_SECOND;
    let bytes = 16e6;
    let one = simulate(&place, 5, "bcast/chain --bytes 16000000");
    about(one, 4.0 * message(bytes));
    let ten = simulate(&place, 5, "bcast/chain --bytes 16000000 --blocks 10");
    about(ten, 13.0 * message(bytes / 10.0));
    let sized = simulate(
        &place,
        5,
        "bcast/chain --bytes 16000000 --block-bytes 1600000",
    );
    about(sized, ten);

    let tree = simulate(&place, 8, "bcast/binomial --bytes 1000");
    about(tree, 3.0 * message(1000.0));

    // A flop takes a nanosecond.
    let reduce = "reduce/binomial --bytes 16000000";
    let combining = simulate(&place, 8, reduce);
    about(combining, 3.0 * (message(bytes) + bytes * 1e-9));
    let free = simulate(&place, 8, &format!("{reduce} --combine-cost 0"));
    about(free, 3.0 * message(bytes));
}

/// The printed trace is one file for all ranks; the list then names only that file.
#[test]
fn a_trace_in_one_file_takes_the_same_time() {
    let Some(place) = place() else { return };
    let args = "allreduce/ring --bytes 4000";
    let apart = simulate(&place, 6, args);
    let args = format!("schedule export {args} --ranks 6 --format simgrid");
    place.write("all.txt", place.run(&words(&args)).good().out);
    place.write("list", "all.txt\n");
    about(replay(&place, 6, "list"), apart);
}
