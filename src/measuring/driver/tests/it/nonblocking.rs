//! The patterns of nonblocking calls.

use schedule::{Collective, Distribution};
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, NONBLOCKING, Operator, Parameters, Pattern,
    Synchronisation,
};
use wire::{FailureKind, Measurement, PlannedWork, Record};

use crate::launch::{Bench, ours};

const PATTERNS: [Pattern; 2] = [Pattern::Nonblocking, Pattern::Overlapped];

fn cell(collective: Collective, bytes: u64) -> Cell {
    let reduces = collective.is_reduction();
    Cell {
        collective,
        shape: CommShape { nodes: 1, ppn: 2 },
        bytes,
        datatype: if reduces {
            Datatype::Int32
        } else {
            Datatype::Byte
        },
        operator: reduces.then_some(Operator::Sum),
        distribution: Distribution::Uniform,
    }
}

/// A bench of these tasks in a pattern of calls, each repeated four times.
fn bench(work: Vec<PlannedWork>, pattern: Pattern, way: Synchronisation) -> Bench {
    let mut bench = Bench::new(work);
    for task in &mut bench.plan.tasks {
        task.pattern = pattern;
    }
    bench.plan.synchronisation = way;
    bench.plan.repetition.minimum = 4;
    bench.plan.repetition.maximum = 4;
    // If a rank is late for its start, there is time for another try.
    bench.plan.repetition.slice_seconds = 2.0;
    bench
}

fn run(bench: &Bench) -> Vec<Record> {
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, launcher::Outcome::Success, "{:?}", exit.tail);
    records
}

fn measurements(records: &[Record]) -> Vec<&Measurement> {
    let done = records.iter().filter_map(|record| match record {
        Record::Done(done) => Some(&done.measurements),
        _ => None,
    });
    done.flatten().collect()
}

#[test]
fn mpi_ranks_measure_nonblocking_calls_of_all_candidates() {
    let work = || {
        let sizes = |collective: Collective| match collective {
            Collective::Barrier => vec![0],
            _ => vec![64, 1 << 20],
        };
        let cells = NONBLOCKING.into_iter().flat_map(|collective| {
            sizes(collective)
                .into_iter()
                .map(move |b| cell(collective, b))
        });
        let compare = |cell: Cell| {
            let algorithms = schedule::algorithms_of(cell.collective);
            let plain = algorithms.filter(|algorithm| algorithm.parameters.is_empty());
            let chosen = plain.map(|algorithm| ours(&algorithm.name(), Parameters::default()));
            let mut candidates = vec![Candidate::Default, Candidate::Placebo];
            candidates.extend(chosen.take(3));
            PlannedWork::Compare { cell, candidates }
        };
        cells.map(compare).collect::<Vec<_>>()
    };
    for (pattern, way) in [
        (Pattern::Nonblocking, Synchronisation::Barrier),
        (Pattern::Overlapped, Synchronisation::Barrier),
        (Pattern::Overlapped, Synchronisation::Window),
    ] {
        // The driver has checked the results.
        let records = run(&bench(work(), pattern, way));
        let failed = |record: &&Record| matches!(record, Record::Failed { .. });
        let failures: Vec<_> = records.iter().filter(failed).collect();
        assert!(failures.is_empty(), "{pattern}: {failures:?}");
        let found = measurements(&records);
        assert!(found.len() >= 5 * 4, "{pattern}: {records:?}");
        for measured in found {
            let positive = |seconds: &f64| *seconds > 0.0;
            assert!(measured.seconds.len() >= 4, "{pattern}: {measured:?}");
            assert!(
                measured.seconds.iter().all(positive),
                "{pattern}: {measured:?}"
            );
        }
    }
}

#[test]
fn mpi_ranks_test_requests_only_beside_computation() {
    for pattern in PATTERNS {
        let work = PlannedWork::Compare {
            cell: cell(Collective::Bcast, 64),
            candidates: vec![Candidate::Default],
        };
        let mut bench = bench(vec![work], pattern, Synchronisation::Barrier);
        bench.preload(include_str!("nonblocking.c"), &[]);
        let calls = bench.path("calls").into();
        bench.environment.push(("COLLTUNE_CALLS".into(), calls));
        let records = run(&bench);
        let found = measurements(&records);
        let measured = found.first().expect("a measurement");
        let made = measured.warmup + measured.seconds.len() as u32 * measured.batch;
        for rank in 0..2 {
            let path = bench.path(&format!("calls.{rank}"));
            let text = std::fs::read_to_string(path).expect("calls");
            let counts: Vec<u32> = text
                .split_whitespace()
                .map(|word| word.parse().expect("a number"))
                .collect();
            let [started, tested] = counts[..] else {
                panic!("{text}");
            };
            assert_eq!(started, made, "{pattern}: {measured:?}");
            // Once at least, and between eight parts of the computation at most.
            let tests = match pattern {
                Pattern::Nonblocking => 0..=0,
                _ => 4 * measured.batch..=7 * made,
            };
            assert!(tests.contains(&tested), "{pattern}: {tested} of {started}");
        }
    }
}

#[test]
fn mpi_ranks_refuse_candidates_that_cannot_carry_out_nonblocking_calls() {
    let native = Candidate::Native {
        algorithm: "native:bcast/binomial".to_owned(),
        parameters: Parameters::default(),
    };
    let work = PlannedWork::Compare {
        cell: cell(Collective::Bcast, 64),
        candidates: vec![Candidate::Default, native],
    };
    let records = run(&bench(
        vec![work],
        Pattern::Nonblocking,
        Synchronisation::Barrier,
    ));
    let failed = records.iter().find_map(|record| match record {
        Record::Failed { kind, message, .. } => Some((*kind, message)),
        _ => None,
    });
    let (kind, message) = failed.expect("a failure");
    assert_eq!(kind, FailureKind::Unsupported, "{message}");
    assert!(
        message.contains("cannot carry out nonblocking calls"),
        "{message}"
    );
    assert_eq!(measurements(&records).len(), 1);
}
