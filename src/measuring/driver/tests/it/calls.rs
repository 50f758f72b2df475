//! The calls of a repetition, and the arrivals of ranks: two ranks record each call.

use schedule::Collective;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Pattern, Synchronisation};
use wire::{Measurement, PlannedWork, Record, exit_code};

use crate::launch::{Bench, assert_code};

/// The default's alltoall on two ranks, which the driver calls for nothing else.
fn bench(pattern: Pattern, way: Synchronisation) -> Bench {
    let cell = Cell {
        collective: Collective::Alltoall,
        shape: CommShape { nodes: 1, ppn: 2 },
        bytes: 64,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    };
    let candidates = vec![Candidate::Default];
    let mut bench = Bench::new(vec![PlannedWork::Compare { cell, candidates }]);
    bench.plan.tasks[0].pattern = pattern;
    bench.plan.synchronisation = way;
    bench.plan.repetition.minimum = 4;
    bench.plan.repetition.maximum = 4;
    // If a rank is late for its start, there is time for another try.
    bench.plan.repetition.slice_seconds = 2.0;
    bench.preload(include_str!("calls.c"), &[]);
    let calls = bench.path("calls").into();
    bench.environment.push(("COLLTUNE_CALLS".into(), calls));
    bench
}

/// The measurement, and the time at which each rank began each call.
fn measured(bench: &Bench) -> (Measurement, [Vec<i64>; 2]) {
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, launcher::Outcome::Success, "{:?}", exit.tail);
    let done = records.into_iter().find_map(|record| match record {
        Record::Done(done) => Some(done),
        _ => None,
    });
    let calls = [0, 1].map(|rank| {
        let path = bench.path(&format!("calls.{rank}"));
        let text = std::fs::read_to_string(path).expect("calls");
        let times = text.lines().map(|line| line.parse().expect("a time"));
        times.collect()
    });
    (done.expect("a task").measurements.remove(0), calls)
}

#[test]
fn mpi_ranks_make_the_calls_that_are_recorded() {
    use Synchronisation::{Barrier, Window};
    let check = |pattern, way, batches: &dyn Fn(u32) -> bool, all: &dyn Fn(u32) -> u32| {
        let (found, calls) = measured(&bench(pattern, way));
        assert!(batches(found.batch), "{pattern}: {}", found.batch);
        assert!(found.seconds.len() >= 4, "{pattern}: {found:?}");
        let made = found.warmup as usize + found.seconds.len() * all(found.batch) as usize;
        assert_eq!(
            calls.map(|calls| calls.len()),
            [made; 2],
            "{pattern}: {found:?}"
        );
    };
    check(
        Pattern::Together,
        Barrier,
        &|batch| batch.is_power_of_two(),
        &|batch| batch,
    );
    let is_block = |batch: u32| batch == 20 || (batch.is_power_of_two() && batch >= 32);
    for way in [Barrier, Window] {
        // An eighth as many untimed calls come first.
        check(Pattern::Repeated, way, &is_block, &|batch| {
            batch + batch / 8
        });
    }
    // A repetition has one call with each order of arrival.
    check(Pattern::Skewed, Window, &|batch| batch == 3, &|_| 3);
}

#[test]
fn mpi_ranks_arrive_at_skewed_calls_one_after_the_other() {
    let mut bench = bench(Pattern::Skewed, Synchronisation::Window);
    let sleep = ("COLLTUNE_SLEEP".into(), "20000".into());
    bench.environment.push(sleep);
    let (found, [first, second]) = measured(&bench);
    let later = first.iter().zip(&second).map(|(a, b)| b - a);
    let later: Vec<i64> = later.skip(found.warmup as usize).collect();
    // In ascending order rank 1 is a call's time late: at least 20 ms, if rank 0 is on time.
    let ascending = later.iter().skip(1).step_by(3);
    let apart = ascending
        .filter(|nanoseconds| **nanoseconds > 10_000_000)
        .count();
    assert!(2 * apart > later.len() / 3, "{later:?}");
    // Each of the two ranks is sometimes the only late one.
    let is_apart = |nanoseconds: &&i64| nanoseconds.abs() > 10_000_000;
    let late = later.iter().step_by(3).filter(is_apart).count();
    assert!(2 * late > later.len() / 3, "{later:?}");
}

#[test]
fn mpi_ranks_without_a_global_clock_cannot_arrive_one_after_the_other() {
    let bench = bench(Pattern::Skewed, Synchronisation::Barrier);
    let (exit, _) = bench.run(2);
    assert_code(&exit, exit_code::PLAN);
    let log = exit.tail.join("\n");
    assert!(
        log.contains("needs ranks that arrive at different times"),
        "{log}"
    );
}
