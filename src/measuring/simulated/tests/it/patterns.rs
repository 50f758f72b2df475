//! Experiments with more than two ranks.

use model::Level;
use schedule::Collective;
use vocabulary::{Candidate, Cell, CommShape, Datatype, ExperimentKind};

use crate::bench::{Bench, compare, experiment, ours};

/// The time of short messages consists of the gaps between them.
#[test]
fn gaps_keep_messages_of_a_node_apart() {
    let (bytes, gap) = (8, 2e-6);
    let kinds = [
        (ExperimentKind::Injection, (2, 1)),
        (ExperimentKind::Injection, (2, 32)),
        (ExperimentKind::FanOut, (5, 1)),
    ];
    let tasks = kinds.into_iter().zip(0..);
    let tasks = tasks.map(|((kind, shape), id)| experiment(id, kind, shape, bytes));
    let mut bench = Bench::new(tasks.collect());
    bench.machine.injection_gap = Some(gap);
    for rails in [1, 2] {
        bench.machine.rails = Some(rails);
        bench.plan.library = bench.launcher().library().clone();
        let network = bench.machine.network.clone().expect("a network");
        let port = bench.machine.injection_beta.expect("a shared port") * bytes as f64;
        let (alpha, message) = (network.alpha, network.beta * bytes as f64);
        let gaps = f64::from(32 / rails - 1);
        let expected = [
            2.0 * alpha + message,
            2.0 * alpha + gaps * (port + gap) + port,
            // The rank's own port separates messages more than two rails do.
            2.0 * alpha + message + 3.0 * (port + gap) / f64::from(rails),
        ];
        for (expected_seconds, ((task, _), seconds)) in expected.iter().zip(bench.seconds()) {
            assert!(
                (seconds[0] / expected_seconds - 1.0).abs() < 1e-9,
                "{task} on {rails}: {seconds:?}, not {expected_seconds}"
            );
        }
    }
}

#[test]
fn patterns_of_messages_show_the_machine() {
    let bytes = 1 << 20;
    let shapes = [
        (ExperimentKind::Shift, (3, 1)),
        (ExperimentKind::Shift, (1, 3)),
    ];
    let pairs = [1, 2, 32].map(|ppn| (ExperimentKind::Injection, (2, ppn)));
    let kinds = shapes.into_iter().chain(pairs).zip(0..);
    let bench = Bench::new(
        kinds
            .map(|((kind, shape), id)| experiment(id, kind, shape, bytes))
            .collect(),
    );
    let machine = &bench.machine;
    let (node, network) = (
        machine.node.clone().expect("a node"),
        machine.network.clone().expect("a network"),
    );
    let shared = machine.injection_beta.expect("a shared port");
    let bytes = bytes as f64;
    let expected = [
        network.alpha + network.beta * bytes,
        node.alpha + node.beta * bytes,
        2.0 * network.alpha + network.beta * bytes,
        2.0 * network.alpha + 2.0 * shared * bytes,
        2.0 * network.alpha + 32.0 * shared * bytes,
    ];
    assert_eq!(bench.seconds().len(), expected.len());
    for (expected_seconds, ((task, _), seconds)) in expected.iter().zip(bench.seconds()) {
        assert!(
            (seconds[0] / expected_seconds - 1.0).abs() < 1e-12,
            "{task}: {seconds:?}"
        );
    }
}

#[test]
fn senders_wait_for_late_receivers_unless_the_message_is_eager() {
    let check = |shape: (u32, u32), bytes: u64, waits: bool| {
        let bench = Bench::new(vec![experiment(0, ExperimentKind::Late, shape, bytes)]);
        let link = bench.machine.link(Level::of_nodes(shape.0));
        let link = link.expect("a link");
        let expected = link.overhead.expect("overhead")
            + link.beta * bytes as f64
            + if waits {
                ExperimentKind::LATE_SECONDS
            } else {
                0.0
            };
        let seconds = bench.seconds()[0].1[0];
        assert!(
            (seconds / expected - 1.0).abs() < 1e-12,
            "{shape:?} {bytes}: {seconds}"
        );
    };
    check((2, 1), 8192, false);
    check((2, 1), 8193, true);
    check((1, 2), 4096, false);
    check((1, 2), 8192, true);
}

/// The schedule in which the root communicates with all others at once is a fan without its empty messages; only one of
/// these takes additional time.
#[test]
fn a_fan_takes_the_time_of_a_schedule_and_an_empty_message() {
    let check = |kind: ExperimentKind, collective: Collective, (nodes, ppn): (u32, u32)| {
        let bytes = 1 << 20;
        let cell = Cell {
            collective,
            shape: CommShape { nodes, ppn },
            bytes,
            datatype: Datatype::Byte,
            operator: None,
            distribution: schedule::Distribution::Uniform,
        };
        let algorithms =
            schedule::algorithms_of(collective).map(|algorithm| ours(&algorithm.name()));
        let algorithms: Vec<Candidate> = algorithms.collect();
        let bench = Bench::new(vec![
            experiment(0, kind, (nodes, ppn), bytes),
            compare(1, cell, &algorithms),
        ]);
        let seconds = bench.seconds();
        let of_task = |task| seconds.iter().filter(move |((of, _), _)| *of == task);
        let first = |(_, times): &(_, Vec<f64>)| times[0];
        let schedules: Vec<f64> = of_task(1).map(first).collect();
        let fan = of_task(0).map(first).next().expect("measured");
        let link = bench.machine.link(Level::of_nodes(nodes));
        let alpha = link.expect("a link").alpha;
        let is_fan =
            |schedule_seconds: &f64| (fan / (schedule_seconds + alpha) - 1.0).abs() < 1e-12;
        assert!(
            schedules.iter().any(is_fan),
            "{kind:?} {nodes}x{ppn}: {fan} and {schedules:?}"
        );
    };
    for shape in [(1, 5), (5, 1), (1, 3)] {
        check(ExperimentKind::FanOut, Collective::Scatter, shape);
        check(ExperimentKind::FanIn, Collective::Gather, shape);
    }
}
