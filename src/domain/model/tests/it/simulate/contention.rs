//! Ports, eager messages, levels and shared nodes, compared with hand calculations.

use model::{Level, Link, Machine, Setting, SimulationError, Topology, simulate, simulate_traced};
use schedule::{Parameters, Request, Schedule};

use super::flat;
use vocabulary::Placement;

const ALPHA: f64 = 4.0;
const OVERHEAD: f64 = 1.0;
const BETA: f64 = 0.5;
const BYTES: u64 = 16;
/// The time for which a port is busy; below, the time until the receiver has the message.
const BUSY: f64 = OVERHEAD + BETA * BYTES as f64;
const MESSAGE: f64 = ALPHA + BETA * BYTES as f64;

fn machine() -> Machine {
    let mut machine = flat(ALPHA, BETA, 0.25);
    machine.network.as_mut().unwrap().overhead = Some(OVERHEAD);
    machine
}

fn eager(limit: u64) -> Machine {
    let mut machine = machine();
    machine.network.as_mut().unwrap().eager_limit = Some(limit);
    machine
}

fn schedule(name: &str, ranks: u32, units: u64) -> Schedule {
    let request = Request {
        units,
        ..Request::among_ranks(ranks)
    };
    Schedule::new(schedule::find_algorithm(name).unwrap(), &request).unwrap()
}

#[track_caller]
fn check(machine: &Machine, name: &str, ranks: u32, expected: f64) {
    check_on(
        machine,
        Topology::one_rank_per_node(ranks),
        name,
        ranks,
        expected,
    );
}

#[track_caller]
fn check_on(machine: &Machine, topology: Topology, name: &str, ranks: u32, expected: f64) {
    let setting = Setting {
        machine,
        topology,
        unit_bytes: 1,
    };
    let simulation = simulate(&schedule(name, ranks, BYTES), &setting).unwrap();
    let seconds = simulation.seconds;
    assert!(
        (seconds - expected).abs() < 1e-9,
        "{name}: {seconds}, not {expected}"
    );
}

#[test]
fn ports_are_busy_for_the_overhead_and_the_bytes() {
    let machine = machine();
    check(&machine, "bcast/binomial", 2, MESSAGE);
    // One round in which the root sends to all: (p - 1)(o + beta m) + alpha, but the last o.
    check(
        &machine,
        "bcast/linear_nonblocking",
        5,
        3.0 * BUSY + MESSAGE,
    );
    check(
        &machine,
        "gather/linear_nonblocking",
        5,
        3.0 * BUSY + MESSAGE,
    );
    // With receives in turn, each message ends before the next begins.
    check(&machine, "gather/linear", 5, 4.0 * MESSAGE);
    // With sends in turn, the sender is free before the data has arrived.
    check(&machine, "bcast/linear", 5, 3.0 * BUSY + MESSAGE);
    // The second sender is asked while the first sends, and waits for the root to be done.
    check(&machine, "gather/linear_sync", 3, ALPHA + 2.0 * MESSAGE);
    // Ports are full duplex: both directions work at once.
    check(&machine, "allgather/ring", 2, MESSAGE);
}

#[test]
fn eager_messages_do_not_wait_for_the_receiver() {
    // All leave at once and arrive one after the other, before the root asks for them.
    check(&eager(BYTES), "gather/linear", 5, 3.0 * BUSY + MESSAGE);
    check(&eager(BYTES - 1), "gather/linear", 5, 4.0 * MESSAGE);
}

#[test]
fn levels_follow_the_placement_of_ranks() {
    let mut machine = machine();
    machine.node = Some(Link {
        alpha: 1.0,
        overhead: None,
        beta: 0.125,
        eager_limit: None,
        ..Link::default()
    });
    let near = 1.0 + 0.125 * BYTES as f64;
    let check = |placement, expected| {
        let topology = Topology::of_ranks(4, 2, placement);
        check_on(&machine, topology, "bcast/binomial", 4, expected);
    };
    // Rank 0 sends to 2, then 0 to 1 and 2 to 3.
    check(Placement::Block, MESSAGE + near);
    check(Placement::Cyclic, near + MESSAGE);
    let flat = Topology::of_ranks(4, 4, Placement::Block);
    check_on(&machine, flat, "bcast/binomial", 4, 2.0 * near);
    // A chain crosses the boundary of two nodes once, or with every message.
    let chain = |placement, expected| {
        check_on(
            &machine,
            Topology::of_ranks(4, 2, placement),
            "bcast/chain",
            4,
            expected,
        );
    };
    chain(Placement::Block, near + MESSAGE + near);
    chain(Placement::Cyclic, 3.0 * MESSAGE);
}

#[test]
fn the_ranks_of_a_node_share_its_port() {
    let mut machine = machine();
    machine.node = machine.network.clone();
    // In the first round of this algorithm all ranks of one node send to the other node.
    let topology = Topology::of_ranks(8, 4, Placement::Block);
    let mut check = |injection_beta, injection_gap, rails, expected: f64| {
        machine.injection_beta = injection_beta;
        machine.injection_gap = injection_gap;
        machine.rails = rails;
        let seconds: f64 = {
            let setting = Setting {
                machine: &machine,
                topology,
                unit_bytes: 1,
            };
            let schedule = schedule("allreduce/recursive_doubling", 8, BYTES);
            let (_, trace) = simulate_traced(&schedule, &setting, 1000).unwrap();
            let far = trace
                .messages
                .iter()
                .filter(|m| m.level == Level::Network && m.from < 4);
            far.clone().map(|m| m.delivered).fold(0.0, f64::max)
                - far.map(|m| m.start).fold(f64::INFINITY, f64::min)
        };
        assert!(
            (seconds - expected).abs() < 1e-9,
            "{injection_beta:?} {injection_gap:?} {rails:?}: {seconds}"
        );
    };
    let bytes = BYTES as f64;
    check(None, None, None, MESSAGE);
    // The port suffices for four messages at full speed, for two, or for less than one.
    check(Some(BETA / 4.0), None, None, MESSAGE);
    check(Some(BETA / 2.0), None, None, ALPHA + 2.0 * BETA * bytes);
    check(Some(BETA * 2.0), None, None, ALPHA + 8.0 * BETA * bytes);
    // Two messages at a time.
    check(Some(BETA), None, Some(2), ALPHA + 2.0 * BETA * bytes);
    // The last message waits for three gaps, or with two rails for one.
    let gap = Some(2.0 * BETA * bytes);
    check(None, gap, None, ALPHA + 6.0 * BETA * bytes);
    check(None, gap, Some(2), ALPHA + 2.0 * BETA * bytes);
    check(Some(BETA), gap, None, ALPHA + 10.0 * BETA * bytes);
    check(Some(BETA), gap, Some(2), ALPHA + 4.0 * BETA * bytes);
    check(None, gap, Some(4), MESSAGE);
}

#[test]
fn missing_parameters_are_reported() {
    let complete = machine();
    let run = |machine: &Machine, topology, name: &str| {
        let setting = Setting {
            machine,
            topology,
            unit_bytes: 1,
        };
        simulate(&schedule(name, 4, BYTES), &setting).map(|s| s.messages)
    };
    let pairs = Topology::of_ranks(4, 2, Placement::Block);
    let no_link = SimulationError::NoLink {
        machine: "flat".to_owned(),
        level: Level::Node,
    };
    assert_eq!(run(&complete, pairs, "bcast/binomial"), Err(no_link));
    let no_gamma = Machine {
        gamma: None,
        ..complete.clone()
    };
    assert_eq!(
        run(&no_gamma, Topology::one_rank_per_node(4), "bcast/binomial"),
        Ok(3)
    );
    let error = SimulationError::NoGamma {
        machine: "flat".to_owned(),
    };
    assert_eq!(
        run(&no_gamma, Topology::one_rank_per_node(4), "reduce/binomial"),
        Err(error)
    );
    let no_room = SimulationError::NoRoom { ranks: 4, room: 3 };
    assert_eq!(
        run(&complete, Topology::one_rank_per_node(3), "bcast/binomial"),
        Err(no_room)
    );
    let mut late = complete.clone();
    late.network.as_mut().unwrap().overhead = Some(2.0 * ALPHA);
    assert!(matches!(
        run(&late, Topology::one_rank_per_node(4), "bcast/binomial"),
        Err(SimulationError::Machine(_))
    ));
}

/// A million messages; their rounds are never in memory at the same time.
#[test]
fn pipelines_of_many_blocks_take_no_more_memory_than_short_ones() {
    let request = Request {
        units: 1 << 18,
        parameters: Parameters::with_blocks(1 << 18),
        ..Request::among_ranks(5)
    };
    let schedule =
        Schedule::new(schedule::find_algorithm("bcast/chain").unwrap(), &request).unwrap();
    let machine = flat(1.0, 0.0, 0.0);
    let setting = Setting {
        machine: &machine,
        topology: Topology::one_rank_per_node(5),
        unit_bytes: 1,
    };
    let simulation = simulate(&schedule, &setting).unwrap();
    assert_eq!(simulation.messages, 4 << 18);
    assert_eq!(simulation.seconds, f64::from((1 << 18) + 3));
}
