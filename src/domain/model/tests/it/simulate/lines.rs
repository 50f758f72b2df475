//! Lines by size, patterns and caches.

use model::{Cache, Line, Link, Machine, Setting, Topology, simulate};
use schedule::{Blocks, Parameter, Parameters, Request, Schedule};

use super::flat;
use vocabulary::Placement;

const ALPHA: f64 = 1e-6;
const BETA: f64 = 1e-9;
const GAMMA: f64 = 2e-10;
const LENGTH: u64 = 4000;
/// The time of a message of the whole vector.
const ONE: f64 = ALPHA + BETA * LENGTH as f64;

fn machine(change: impl Fn(&mut Link)) -> Machine {
    let mut machine = flat(ALPHA, BETA, GAMMA);
    let mut link = machine.network.take().expect("a network");
    link.lines = vec![link.line_for_size(0)];
    change(&mut link);
    Machine {
        network: Some(link.clone()),
        node: Some(link),
        ..machine
    }
}

fn seconds(machine: &Machine, algorithm: &str, ranks: u32, ppn: u32) -> f64 {
    let algorithm = schedule::find_algorithm(algorithm).expect("registered");
    let request = Request {
        units: LENGTH,
        parameters: Parameters {
            blocks: algorithm
                .takes(Parameter::Blocks)
                .then_some(Blocks::Count(1)),
            ..Parameters::default()
        },
        ..Request::among_ranks(ranks)
    };
    let setting = Setting {
        machine,
        topology: Topology::of_ranks(ranks, ppn, Placement::Block),
        unit_bytes: 1,
    };
    let schedule = Schedule::new(algorithm, &request).expect("serves the call");
    simulate(&schedule, &setting).expect("simulates").seconds
}

#[track_caller]
fn check(machine: &Machine, (algorithm, ranks, ppn): (&str, u32, u32), expected: f64) {
    let found = seconds(machine, algorithm, ranks, ppn);
    assert!(
        (found / expected - 1.0).abs() < 1e-9,
        "{found} instead of {expected}"
    );
}

#[test]
fn a_message_follows_the_line_of_its_size() {
    for (from, expected) in [
        (LENGTH, 5e-6 + 2.0 * BETA * LENGTH as f64),
        (LENGTH + 1, ONE),
    ] {
        let long = Line {
            from,
            alpha: 5e-6,
            beta: 2.0 * BETA,
            ..Line::default()
        };
        let machine = machine(|link| link.lines.push(long));
        check(&machine, ("bcast/binomial", 2, 1), expected);
    }
}

#[test]
fn an_exchange_takes_longer_and_a_message_one_way_does_not() {
    let machine = machine(|link| link.lines[0].exchange = Some(1.5));
    let combined = GAMMA * LENGTH as f64;
    let exchange = ("allreduce/recursive_doubling", 2, 1);
    check(&machine, exchange, 1.5 * ONE + combined);
    check(&machine, ("reduce/binomial", 2, 1), ONE + combined);
}

#[test]
fn a_shift_is_distinguished_from_an_exchange() {
    let machine = machine(|link| {
        link.lines[0].exchange = Some(1.5);
        link.shift = Some(3.0);
    });
    // In a ring of three ranks each has two partners.
    let slow = seconds(&machine, "allgather/ring", 3, 1);
    let plain = seconds(&self::machine(|_| {}), "allgather/ring", 3, 1);
    assert!((slow / plain - 3.0).abs() < 1e-9, "{slow} and {plain}");
}

#[test]
fn data_that_the_sender_has_received_takes_longer() {
    let machine = machine(|link| link.lines[0].fresh = Some(2.0));
    check(&machine, ("bcast/chain", 2, 1), ONE);
    check(&machine, ("bcast/chain", 4, 1), ONE + 2.0 * 2.0 * ONE);
}

#[test]
fn messages_of_a_fan_share_time() {
    let machine = machine(|link| link.fan_out = Some(0.5));
    let bytes = BETA * LENGTH as f64;
    let fan = ("bcast/linear_nonblocking", 3, 1);
    check(&machine, fan, 2.0 * ALPHA + 1.5 * bytes);
}

#[test]
fn bytes_beyond_caches_take_longer_within_nodes() {
    let mut machine = machine(|_| {});
    // Both vectors have twice as many bytes.
    machine.cache = Some(Cache {
        bytes: LENGTH as f64,
        beyond: 3.0,
    });
    let bytes = BETA * LENGTH as f64;
    check(&machine, ("bcast/binomial", 2, 2), ALPHA + 2.0 * bytes);
    check(&machine, ("bcast/binomial", 2, 1), ONE);
}

#[test]
fn combining_follows_the_line_of_its_size() {
    let mut machine = machine(|_| {});
    let rate = |from, beta| Line {
        from,
        beta,
        ..Line::default()
    };
    machine.combining = vec![rate(0, GAMMA), rate(LENGTH, 4.0 * GAMMA)];
    let combined = 4.0 * GAMMA * LENGTH as f64;
    check(&machine, ("reduce/binomial", 2, 1), ONE + combined);
}
