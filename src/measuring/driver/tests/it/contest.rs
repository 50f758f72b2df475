//! The repetition of candidates: races, and batches of calls.

use launcher::Outcome;
use vocabulary::{Candidate, Parameters, Racing, Synchronisation};
use wire::{Measurement, Record};

use crate::launch::{Bench, allreduce, ours};

/// The clock advances in steps of 20 us.
pub(crate) const COARSE_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t which, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(which, now);
    now->tv_nsec -= now->tv_nsec % 20000;
    return code;
}
"#;

/// Measures an allreduce of `bytes` on 2 ranks with these candidates.
fn measure(mut bench: Bench, bytes: u64, candidates: Vec<Candidate>) -> Vec<Measurement> {
    bench.set_work(vec![allreduce(2, bytes, candidates)]);
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let done = records.into_iter().find_map(|record| match record {
        Record::Done(done) => Some(done.measurements),
        _ => None,
    });
    done.expect("a measured cell")
}

/// A bench in which candidates take up to a second.
fn patient() -> Bench {
    let mut bench = Bench::new(Vec::new());
    bench.plan.repetition.minimum = 10;
    bench.plan.repetition.maximum = 20_000;
    bench.plan.repetition.precision = 1e-6;
    bench.plan.repetition.slice_seconds = 1.0;
    bench
}

#[test]
fn significantly_slower_candidates_leave_the_race() {
    let blocks = |block_bytes| Parameters {
        block_bytes: Some(block_bytes),
        ..Parameters::default()
    };
    // One candidate sends a thousand messages, the other a few.
    let candidates = || {
        vec![
            ours("allreduce/pipelined_tree", blocks(64)),
            Candidate::Default,
            ours("allreduce/recursive_doubling", Parameters::default()),
        ]
    };
    let race = || {
        let mut bench = patient();
        bench.plan.racing = Some(Racing { materiality: 0.05 });
        measure(bench, 65_536, candidates())
    };
    let raced = race();
    let left = raced[0].left.expect("the slow one has left");
    assert!(left.leader != 0 && left.ratio > 1.05, "{left:?}");
    assert!(left.round >= 5 && left.saved_seconds > 0.0, "{left:?}");
    assert!(raced[0].seconds.len() >= 10);
    assert_eq!(
        raced[1].left, None,
        "other candidates are compared with the default"
    );

    let seconds = |of: &Measurement| of.seconds.iter().sum::<f64>();
    let mut spent = seconds(&raced[0]);
    // Another process may have slowed down the rounds before it left, so fresh launches confirm a failure.
    let is_shorter = (0..3).any(|launch| {
        if launch > 0 {
            spent = seconds(&race()[0]);
        }
        let whole = measure(patient(), 65_536, candidates());
        assert!(whole.iter().all(|measurement| measurement.left.is_none()));
        spent < 0.5 * seconds(&whole[0])
    });
    assert!(is_shorter, "{spent} s");
}

#[test]
fn calls_too_short_for_the_clock_are_batched() {
    let mut bench = patient();
    bench.plan.repetition.maximum = 50;
    bench.preload(COARSE_CLOCK, &["-ldl"]);
    let doubling = ours("allreduce/recursive_doubling", Parameters::default());
    let measured = measure(bench, 8, vec![Candidate::Default, doubling]);
    assert_eq!(measured.len(), 2);
    for measurement in &measured {
        assert!(measurement.batch > 1, "{}", measurement.batch);
        assert_eq!(measurement.batch, measured[0].batch, "only these compare");
        // A batch lasts fifty steps of 20 us according to the call time in warm-up, or has the maximum number of calls
        // if a call takes less than a microsecond.
        let mut seconds = measurement.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        let batch = seconds[seconds.len() / 2] * f64::from(measurement.batch);
        let is_longest = measurement.batch == 1024 && batch < 20e-3;
        assert!(
            is_longest || (0.2e-3..20e-3).contains(&batch),
            "{batch} s, {} calls",
            measurement.batch
        );
    }
}

/// A sum takes a millisecond.
const SLOW_SUMS: &str = r#"
#include <mpi.h>
#include <unistd.h>

int MPI_Allreduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm communicator)
{
    if (op == MPI_SUM)
        usleep(1000);
    return PMPI_Allreduce(input, output, count, type, op, communicator);
}
"#;

#[test]
fn an_mpi_task_records_the_use_of_its_time() {
    assert!(own_share(Synchronisation::Barrier) > 0.0);
    // With windows, a late call may overlap the next one, so that on a busy machine the parts exceed the elapsed time.
    // One of three launches must leave a rest.
    let mut own = (0..3).map(|_| own_share(Synchronisation::Window));
    assert!(own.any(|share| share > 0.0));
}

/// Checks the use of a task's time; returns the share of the driver's own.
fn own_share(way: Synchronisation) -> f64 {
    let mut bench = Bench::new(vec![allreduce(2, 8, vec![Candidate::Default])]);
    bench.plan.synchronisation = way;
    bench.plan.repetition.minimum = 200;
    bench.plan.repetition.maximum = 200;
    bench.plan.repetition.slice_seconds = 10.0;
    bench.preload(SLOW_SUMS, &[]);
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let done = records.into_iter().find_map(|record| match record {
        Record::Done(done) => Some(done),
        _ => None,
    });
    let done = done.expect("a measured cell");
    let spent = done.spent.expect("told");
    let measured = &done.measurements[0];
    let calls: f64 = measured.seconds.iter().sum();
    assert!(
        (spent.calling_seconds / calls - 1.0).abs() < 1e-6,
        "{way:?}: {spent:?}"
    );
    assert!(spent.calling_seconds > 0.2, "{way:?}: {spent:?}");
    // The first call and the warm-up calls.
    let warm_up = f64::from(measured.warmup) * 1e-3;
    assert!(spent.preparing_seconds > warm_up, "{way:?}: {spent:?}");
    assert!(spent.starting_seconds > 0.0, "{way:?}: {spent:?}");
    let shares = spent.shares_of_elapsed(done.elapsed_seconds);
    assert!(shares.own < 0.2, "{way:?}: {shares:?}");
    shares.own
}

/// No private communicator can be created; without one, a table leaves calls to the library.
const NO_COMMUNICATORS: &str = r#"
#include <mpi.h>

int MPI_Comm_create(MPI_Comm communicator, MPI_Group group, MPI_Comm *created)
{
    return MPI_ERR_OTHER;
}
"#;

#[test]
fn our_algorithms_are_called_as_deployed_and_fail_if_the_library_would_be_called() {
    let doubling = ours("allreduce/recursive_doubling", Parameters::default());
    let candidates = vec![Candidate::Default, Candidate::Placebo, doubling];
    assert_eq!(measure(for_a_moment(), 64, candidates.clone()).len(), 3);

    let mut bench = for_a_moment();
    bench.set_work(vec![allreduce(2, 64, candidates)]);
    bench.preload(NO_COMMUNICATORS, &[]);
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let failures = records.iter().filter_map(|record| match record {
        Record::Failed {
            candidate, message, ..
        } => Some((*candidate, message.as_str())),
        _ => None,
    });
    let failures: Vec<(u32, &str)> = failures.collect();
    let reason = "the library carried out the call: default (no private communicator: free unused ones earlier)";
    assert_eq!(failures, [(2, reason)]);
}

/// A bench in which candidates are repeated a few times.
fn for_a_moment() -> Bench {
    let mut bench = patient();
    bench.plan.repetition.maximum = 20;
    bench
}
