//! Candidates with messages through shared memory.

use launcher::Outcome;
use schedule::{Collective, Distribution};
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Experiment, ExperimentKind, Operator, Parameters,
    Through, Warning,
};
use wire::{FailureKind, PlannedWork, Record, exit_code};

use crate::launch::{Bench, allreduce, assert_code, ours};

fn through(through: Through) -> Parameters {
    Parameters {
        through,
        ..Parameters::default()
    }
}

fn bench() -> Bench {
    let candidates = vec![
        Candidate::Default,
        ours("allreduce/ring", through(Through::Mpi)),
        ours("allreduce/ring", through(Through::Shared)),
        ours("allreduce/recursive_doubling", through(Through::Shared)),
    ];
    Bench::new(vec![allreduce(2, 4096, candidates)])
}

/// Whether ranks have memory in common, as the start of a launch reports it.
fn reported(records: &[Record]) -> Option<bool> {
    let Some(Record::Started(start)) = records.first() else {
        panic!("{records:?}");
    };
    let environment = &start.environment;
    let is_warned = |warning: &Warning| matches!(warning, Warning::NoSharedMemory { .. });
    let warns = environment.warnings.iter().any(is_warned);
    assert_eq!(
        warns,
        environment.shared_memory == Some(false),
        "{environment:?}"
    );
    environment.shared_memory
}

/// The measured candidates, and the failed ones with the reason.
fn outcomes(records: Vec<Record>) -> (Vec<u32>, Vec<(u32, String)>) {
    let (mut measured, mut failed) = (Vec::new(), Vec::new());
    for record in records {
        match record {
            Record::Done(done) => measured.extend(done.measurements.iter().map(|m| m.candidate)),
            Record::Failed {
                candidate,
                kind: FailureKind::Unsupported,
                message,
                ..
            } => failed.push((candidate, message)),
            _ => {}
        }
    }
    measured.sort_unstable();
    (measured, failed)
}

#[test]
fn candidates_through_shared_memory_are_measured_under_mpi() {
    let (exit, records) = bench().run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    assert_eq!(reported(&records), Some(true));
    assert_eq!(outcomes(records), (vec![0, 1, 2, 3], Vec::new()));
}

/// A barrier has no data, but messages.
#[test]
fn barriers_through_shared_memory_are_measured_under_mpi() {
    let cell = Cell {
        collective: Collective::Barrier,
        shape: CommShape { nodes: 1, ppn: 2 },
        bytes: 0,
        datatype: Datatype::Byte,
        operator: None,
        distribution: Distribution::Uniform,
    };
    let candidates = vec![
        Candidate::Default,
        ours("barrier/dissemination", through(Through::Mpi)),
        ours("barrier/dissemination", through(Through::Shared)),
        ours("barrier/linear", through(Through::Shared)),
    ];
    let (exit, records) = Bench::new(vec![PlannedWork::Compare { cell, candidates }]).run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    assert_eq!(outcomes(records), (vec![0, 1, 2, 3], Vec::new()));
}

#[test]
fn without_shared_memory_candidates_fail_with_the_reason_under_mpi() {
    let mut bench = bench();
    let variable = |value: &str| vec![("COLLTUNE_SHARED_MEMORY".into(), value.into())];
    bench.environment = variable("0");
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    assert_eq!(reported(&records), Some(false));
    let (measured, mut failed) = outcomes(records);
    failed.sort();
    let reason = "no shared memory: shared memory is switched off".to_owned();
    assert_eq!(measured, [0, 1]);
    assert_eq!(failed, [(2, reason.clone()), (3, reason)]);

    bench.environment = variable("plenty");
    let (refused_exit, _) = bench.run(2);
    assert_code(&refused_exit, exit_code::PLAN);
    assert!(
        refused_exit
            .tail
            .iter()
            .any(|line| line.contains("\"plenty\", not a size"))
    );
}

/// Every kind of experiment that a campaign requests, with short messages and with messages longer than the channels.
fn experiments() -> Bench {
    let combine = ExperimentKind::Combine {
        datatype: Datatype::Float64,
        operator: Operator::Sum,
    };
    let kinds = [
        (ExperimentKind::PingPong, 2),
        (ExperimentKind::Exchange, 2),
        (ExperimentKind::Burst, 2),
        (ExperimentKind::Late, 2),
        (combine, 2),
        (ExperimentKind::Shift, 3),
        (ExperimentKind::FanOut, 3),
        (ExperimentKind::FanIn, 3),
    ];
    let work = kinds.iter().flat_map(|(kind, ppn)| {
        [8, 1 << 20].map(|bytes| {
            PlannedWork::Experiment(Experiment {
                kind: *kind,
                shape: CommShape {
                    nodes: 1,
                    ppn: *ppn,
                },
                bytes,
                through: Through::Shared,
            })
        })
    });
    let mut bench = Bench::new(work.collect());
    bench.plan.repetition.minimum = 5;
    bench.plan.repetition.maximum = 10;
    bench
}

#[test]
fn experiments_go_through_shared_memory_under_mpi() {
    let bench = experiments();
    let (exit, records) = bench.run(3);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let mut measured = 0;
    for record in records {
        match record {
            Record::Done(done) => {
                let seconds = &done.measurements[0].seconds;
                let plausible = |call_seconds: &f64| (1e-9..1.0).contains(call_seconds);
                assert!(seconds.iter().all(plausible), "{} {seconds:?}", done.task);
                measured += 1;
            }
            Record::Failed { message, .. } => panic!("{message}"),
            _ => {}
        }
    }
    assert_eq!(measured, bench.plan.tasks.len());
}

#[test]
fn without_shared_memory_experiments_fail_with_the_reason_under_mpi() {
    let mut bench = experiments();
    bench.environment = vec![("COLLTUNE_SHARED_MEMORY".into(), "0".into())];
    let (exit, records) = bench.run(3);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let (measured, failed) = outcomes(records);
    assert_eq!(measured, [0_u32; 0]);
    let reason = "no shared memory: shared memory is switched off";
    assert_eq!(failed.len(), bench.plan.tasks.len());
    assert!(failed.iter().all(|(_, message)| message == reason));
}
