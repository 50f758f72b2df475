//! Candidates whose messages go through shared memory.

use launcher::Outcome;
use vocabulary::{Candidate, Parameters, Through};
use wire::{FailureKind, Record, exit_code};

use crate::launch::{Bench, allreduce, assert_code, ours};

fn bench() -> Bench {
    let through = |through| Parameters {
        through,
        ..Parameters::default()
    };
    let candidates = vec![
        Candidate::Default,
        ours("allreduce/ring", through(Through::Mpi)),
        ours("allreduce/ring", through(Through::Shared)),
        ours("allreduce/recursive_doubling", through(Through::Shared)),
    ];
    Bench::new(vec![allreduce(2, 4096, candidates)])
}

/// The candidates that were measured, and those that were not, with the reason.
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
    assert_eq!(outcomes(records), (vec![0, 1, 2, 3], Vec::new()));
}

#[test]
fn without_shared_memory_candidates_fail_and_say_why_under_mpi() {
    let mut bench = bench();
    let variable = |value: &str| vec![("COLLTUNE_SHARED_MEMORY".into(), value.into())];
    bench.environment = variable("0");
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let (measured, mut failed) = outcomes(records);
    failed.sort();
    let reason = "no shared memory: shared memory is switched off".to_owned();
    assert_eq!(measured, [0, 1]);
    assert_eq!(failed, [(2, reason.clone()), (3, reason)]);

    bench.environment = variable("plenty");
    let (exit, _) = bench.run(2);
    assert_code(&exit, exit_code::PLAN);
    assert!(
        exit.tail
            .iter()
            .any(|line| line.contains("\"plenty\", not a size"))
    );
}
