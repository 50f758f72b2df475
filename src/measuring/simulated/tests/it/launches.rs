//! The records and the outcomes of launches.

use std::time::Duration;

use launcher::{Launcher, Outcome};
use model::{Machine, Noise, Setting, Topology, simulate};
use schedule::Schedule;
use vocabulary::units::format_seconds;
use vocabulary::{
    CacheState, Candidate, Cell, CommShape, Datatype, ExperimentKind, Library, Operator,
    Parameters, Placement, RankOrder, Synchronisation, Warning,
};
use wire::{FailureKind, Finish, Record, exit_code};

use crate::bench::{Bench, allreduce, compare, experiment, launcher, ours};

#[test]
fn without_noise_every_repetition_is_the_simulated_time() {
    let names = [
        "allreduce/recursive_doubling",
        "allreduce/ring",
        "allreduce/dual_root",
    ];
    let mut candidates = vec![Candidate::Default];
    candidates.extend(names.map(ours));
    let cell = allreduce(1 << 16);
    let bench = Bench::new(vec![compare(3, cell, &candidates)]);
    let measured = bench.seconds();
    assert_eq!(measured.len(), 4);
    // The rules of the default choose this algorithm for 64 KiB.
    for (name, ((task, _), seconds)) in ["allreduce/rabenseifner"]
        .iter()
        .chain(&names)
        .zip(measured)
    {
        let parameters = ours(name).parameters();
        let algorithm = schedule::find_algorithm(name).expect("registered");
        let schedule =
            Schedule::new(algorithm, &cell.schedule_request(&parameters)).expect("a schedule");
        let setting = Setting {
            machine: &bench.machine,
            topology: Topology::new(4, 2, Placement::Block),
            unit_bytes: 8,
        };
        let expected = simulate(&schedule, &setting).expect("simulated").seconds;
        assert_eq!(task, 3);
        assert!(seconds.len() >= 10);
        assert!(
            seconds.iter().all(|found| *found == expected),
            "{name}: {seconds:?}"
        );
    }
}

#[test]
fn rings_take_longer_where_all_neighbours_are_on_other_nodes() {
    let shape = CommShape { nodes: 4, ppn: 4 };
    let cell = Cell {
        shape,
        ..allreduce(1 << 16)
    };
    let run = |placement| {
        let mut bench = Bench::new(vec![
            compare(0, cell, &[ours("allreduce/ring")]),
            experiment(1, ExperimentKind::PingPong, (1, 2), 64),
        ]);
        bench.placement = placement;
        let (_, records) = bench.run();
        let done = records.into_iter().filter_map(|record| match record {
            Record::Done(done) => Some((done.order, done.measurements[0].seconds[0])),
            _ => None,
        });
        done.collect::<Vec<(RankOrder, f64)>>()
    };
    let (block, cyclic) = (run(Placement::Block), run(Placement::Cyclic));
    let orders = |records: &[(RankOrder, f64)]| records.iter().map(|r| r.0).collect::<Vec<_>>();
    assert_eq!(orders(&block), [RankOrder::Block, RankOrder::Block]);
    // The ranks of a single node have only one order.
    assert_eq!(orders(&cyclic), [RankOrder::Cyclic, RankOrder::Block]);
    assert!(cyclic[0].1 > 1.5 * block[0].1, "{cyclic:?} {block:?}");
    assert_eq!(cyclic[1].1, block[1].1);
}

#[test]
fn simulated_clocks_are_perfect() {
    let residuals = |way| {
        let cell = compare(0, allreduce(64), &[Candidate::Default]);
        let mut bench = Bench::new(vec![
            cell,
            experiment(1, ExperimentKind::PingPong, (1, 2), 64),
        ]);
        bench.plan.synchronisation = way;
        let (outcome, records) = bench.run();
        assert_eq!(outcome, Outcome::Success);
        let done = records.into_iter().filter_map(|record| match record {
            Record::Done(done) => Some(done.measurements[0].clone()),
            _ => None,
        });
        let measured: Vec<_> = done.collect();
        assert!(measured.iter().all(|measured| measured.invalid.is_empty()));
        measured
            .iter()
            .map(|measured| measured.residual_seconds)
            .collect::<Vec<_>>()
    };
    assert_eq!(residuals(Synchronisation::Barrier), [None, None]);
    assert_eq!(residuals(Synchronisation::Window), [Some(0.0), None]);
}

#[test]
fn experiments_show_the_machine() {
    let combine = ExperimentKind::Combine {
        datatype: Datatype::Float64,
        operator: Operator::Sum,
    };
    let (ping_pong, exchange) = (ExperimentKind::PingPong, ExperimentKind::Exchange);
    let bench = Bench::new(vec![
        experiment(0, ping_pong, (1, 2), 1 << 20),
        experiment(1, ping_pong, (2, 1), 1 << 20),
        experiment(2, exchange, (2, 1), 8),
        experiment(3, combine, (1, 2), 1 << 20),
        experiment(4, ExperimentKind::Copy, (1, 2), 1 << 20),
        experiment(5, ExperimentKind::Burst, (2, 1), 64),
    ]);
    let machine = &bench.machine;
    let (node, network) = (
        machine.node.clone().expect("a node"),
        machine.network.clone().expect("a network"),
    );
    let bytes = f64::from(1 << 20);
    let expected = [
        node.alpha + node.beta * bytes,
        network.alpha + network.beta * bytes,
        network.alpha + network.beta * 8.0,
        machine.gamma.expect("gamma") * bytes,
        machine.copy.expect("copy") * bytes,
        // 63 messages occupy the ports, the last one is delivered, and an answer comes back.
        (63.0 * (network.overhead.expect("overhead") + network.beta * 64.0)
            + 2.0 * network.alpha
            + network.beta * 64.0)
            / 64.0,
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
fn a_launch_records_its_machine_and_its_use_of_time() {
    let bench = Bench::new(vec![compare(0, allreduce(64), &[Candidate::Default])]);
    let (outcome, records) = bench.run();
    assert_eq!(outcome, Outcome::Success);
    let [
        Record::Started(start),
        Record::Trying { .. },
        Record::Done(done),
        Record::Finished { reason },
    ] = &records[..]
    else {
        panic!("{records:?}");
    };
    assert_eq!(*reason, Finish::Complete);
    assert_eq!(start.campaign, "digest");
    let environment = &start.environment;
    assert_eq!(environment.library.as_ref(), Some(&bench.plan.library));
    assert!(matches!(
        environment.warnings[..],
        [Warning::Simulated { .. }]
    ));
    let calls: f64 = done.measurements[0].seconds.iter().sum();
    // The calls, their barriers, and a first call.
    assert!(
        done.elapsed_seconds > calls && done.elapsed_seconds < 3.0 * calls,
        "{done:?}"
    );
}

#[test]
fn the_deadline_counts_simulated_time() {
    let tasks = (0..50).map(|id| compare(id, allreduce(1 << 20), &[Candidate::Default]));
    let mut bench = Bench::new(tasks.collect());
    let done = |records: &[Record]| -> f64 {
        let elapsed = |record: &Record| match record {
            Record::Done(done) => done.elapsed_seconds,
            _ => 0.0,
        };
        records.iter().map(elapsed).sum()
    };
    let whole = done(&bench.run().1);
    bench.plan.deadline_seconds = Some(whole / 2.0);
    let (outcome, records) = bench.run();
    assert_eq!(outcome, Outcome::Success);
    let last = records.last().expect("records");
    assert!(
        matches!(
            last,
            Record::Finished {
                reason: Finish::Deadline
            }
        ),
        "{last:?}"
    );
    let half = done(&records) / whole;
    assert!((0.5..0.55).contains(&half), "{half}");
}

#[test]
fn a_call_that_outlasts_the_watchdog_hangs() {
    let mut bench = Bench::new(vec![
        compare(0, allreduce(8), &[Candidate::Default]),
        compare(1, allreduce(1 << 20), &[Candidate::Default]),
        compare(2, allreduce(8), &[Candidate::Default]),
    ]);
    bench.plan.watchdog_seconds = 1e-4;
    let (outcome, records) = bench.run();
    assert_eq!(outcome, Outcome::Success);
    let failed = records.iter().filter_map(|record| match record {
        Record::Failed { task, kind, .. } => Some((*task, *kind)),
        _ => None,
    });
    assert_eq!(failed.collect::<Vec<_>>(), [(1, FailureKind::Hang)]);
    let measured: Vec<u32> = bench.seconds().iter().map(|((task, _), _)| *task).collect();
    assert_eq!(measured, [0, 2]);
}

/// The measuring program does the same, with the same words; the default is always measured.
#[test]
fn candidates_that_a_cell_cannot_afford_are_left_out() {
    let slow = || Candidate::Ours {
        algorithm: "allreduce/pipelined_tree".to_owned(),
        parameters: Parameters {
            block_bytes: Some(8),
            ..Parameters::default()
        },
    };
    let fast = || ours("allreduce/recursive_doubling");
    for candidates in [[slow(), fast()], [fast(), slow()]] {
        let mut bench = Bench::new(vec![compare(0, allreduce(2048), &candidates)]);
        // One algorithm takes hundreds of messages of 10 ms one after the other, the other takes a few.
        let network = bench.machine.network.as_mut().expect("a network");
        (network.alpha, network.overhead) = (10e-3, None);
        let bench = bench.with_noise(Noise::default());
        let (outcome, records) = bench.run();
        assert_eq!(outcome, Outcome::Success);
        let place = u32::from(candidates[0] == fast());
        let failed = records.iter().find_map(|record| match record {
            Record::Failed {
                candidate,
                kind: FailureKind::TooSlow,
                message,
                ..
            } => Some((*candidate, message.as_str())),
            _ => None,
        });
        let (candidate, message) = failed.expect("one fails");
        assert_eq!(candidate, place, "{message}");
        assert!(message.contains("it was not repeated"), "{message}");
        let measured: Vec<u32> = bench.seconds().iter().map(|((_, c), _)| *c).collect();
        assert_eq!(measured, [1 - place]);
    }
}

/// Noise makes all calls twenty times as slow, so that the first call is too long for the cell, although the cell could
/// afford the undisturbed candidate.
#[test]
fn candidates_too_slow_in_their_first_call_are_not_repeated() {
    let slow = Candidate::Ours {
        algorithm: "allreduce/pipelined_tree".to_owned(),
        parameters: Parameters {
            block_bytes: Some(8),
            ..Parameters::default()
        },
    };
    let cell = allreduce(2048);
    let mut bench = Bench::new(vec![compare(0, cell, &[Candidate::Default, slow.clone()])]);
    let network = bench.machine.network.as_mut().expect("a network");
    (network.alpha, network.overhead) = (8e-4, None);
    let bench = bench.with_noise(Noise {
        spike_probability: 1.0,
        spike_factor: 20.0,
        ..Noise::default()
    });
    let undisturbed = bench.launcher().noise_free_seconds(&cell, &slow);
    let undisturbed = undisturbed.expect("simulated");
    assert!((0.5..1.0).contains(&undisturbed), "{undisturbed}");
    let (_, records) = bench.run();
    let failed = records.iter().find_map(|record| match record {
        Record::Failed {
            candidate: 1,
            kind: FailureKind::TooSlow,
            message,
            ..
        } => Some(message),
        _ => None,
    });
    let first = format!("one call took {}", format_seconds(20.0 * undisturbed));
    assert!(failed.expect("it fails").starts_with(&first), "{failed:?}");
    let done = records.iter().find_map(|record| match record {
        Record::Done(done) => Some(done),
        _ => None,
    });
    let done = done.expect("measured");
    assert_eq!(done.measurements.len(), 1);
    let prepared = done.spent.expect("told").preparing_seconds;
    assert!(prepared > 20.0 * undisturbed && done.elapsed_seconds > prepared);
}

#[test]
fn candidates_that_cannot_be_simulated_are_left_out() {
    let unknown = ours("allreduce/magic");
    let bench = Bench::new(vec![compare(
        0,
        allreduce(8),
        &[unknown, Candidate::Default],
    )]);
    let (outcome, records) = bench.run();
    assert_eq!(outcome, Outcome::Success);
    let failed = |record: &Record| {
        matches!(
            record,
            Record::Failed {
                candidate: 0,
                kind: FailureKind::Unsupported,
                ..
            }
        )
    };
    assert!(records.iter().any(failed), "{records:?}");
    let measured: Vec<u32> = bench.seconds().iter().map(|((_, c), _)| *c).collect();
    assert_eq!(measured, [1]);
}

/// These are the versions of colltune 0.1.0.
#[test]
fn machines_keep_their_versions() {
    let all = "name: all\nranks_per_node: 2\n\
        network: {alpha: 1.5e-6, overhead: 0.3e-6, beta: 0.1e-9, eager_limit: 8192}\n\
        node: {alpha: 0.4e-6, beta: 0.05e-9}\n\
        injection_beta: 0.1e-9\ngamma: 0.15e-9\ncopy: 0.07e-9\n\
        noise: {jitter: 0.1, spike_probability: 0.01, spike_factor: 10, \
        slow_launch_probability: 0.1, slow_launch_factor: 2}\n";
    let few = "name: few\nranks_per_node: 4\nnode: {alpha: 1e-6, beta: 1e-9}\n";
    for (text, version) in [(all, "all-7084a54b"), (few, "few-79a71657")] {
        let machine = Machine::from_yaml(text).expect("a machine");
        assert_eq!(
            launcher(&machine, Placement::Block).library().version,
            version
        );
    }
}

#[test]
fn plans_for_other_machines_and_versions_are_refused() {
    let tasks = || vec![compare(0, allreduce(8), &[Candidate::Default])];
    let mut bench = Bench::new(tasks());
    bench.plan.version += 1;
    assert_eq!(bench.run(), (Outcome::Code(exit_code::PLAN), Vec::new()));
    let mut cold_bench = Bench::new(tasks());
    cold_bench.plan.cache = CacheState::Cold;
    assert_eq!(
        cold_bench.run(),
        (Outcome::Code(exit_code::PLAN), Vec::new())
    );
    let mut foreign_bench = Bench::new(tasks());
    foreign_bench.plan.library = Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    };
    assert_eq!(
        foreign_bench.run(),
        (Outcome::Code(exit_code::LIBRARY), Vec::new())
    );
    let mut unwritable_bench = Bench::new(tasks());
    unwritable_bench.plan.spool = "/dev/null/spool".into();
    assert_eq!(unwritable_bench.run().0, Outcome::Code(exit_code::FAILED));
}

#[test]
fn nothing_is_written_after_a_kill() {
    // These tasks would take hours.
    let tasks = (0..20_000).map(|id| compare(id, allreduce(8), &[Candidate::Default]));
    let mut bench = Bench::new(tasks.collect());
    (bench.plan.repetition.minimum, bench.plan.repetition.maximum) = (200_000, 200_000);
    let mut running = bench.launcher().start(&bench.job()).expect("started");
    while bench.records().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    running.kill().expect("killed");
    let exit = running.poll().expect("polled").expect("ended");
    assert_eq!(exit.outcome, Outcome::Killed);
    let written = std::fs::read(&bench.plan.spool).expect("a spool");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(std::fs::read(&bench.plan.spool).expect("a spool"), written);
    let finished = matches!(bench.records().last(), Some(Record::Finished { .. }));
    assert!(!finished, "the kill came too late");
}
