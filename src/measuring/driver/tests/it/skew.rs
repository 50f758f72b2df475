//! Agreed starts with wrong clocks, which a preloaded library simulates.

use std::num::NonZero;

use launcher::LibraryName;
use launcher::Outcome;
use testkit::mpi::chosen_family;
use vocabulary::{Candidate, CommShape, Node, Synchronisation, Warning};
use wire::{LaunchStart, Measurement, PlannedWork, RankClock, Record};

use crate::launch::{Bench, allreduce};

/// Repetitions of each measurement.
const REPETITIONS: u32 = 200;

/// A launch with clocks that are wrong in this way, by the variables of `skew.c`.
fn launch(
    ranks: u32,
    work: Vec<PlannedWork>,
    way: Synchronisation,
    skew: &[(&str, f64)],
) -> Vec<Record> {
    launch_on_nodes(None, ranks, work, way, skew)
}

/// The same, as if there were `ppn` ranks on each node.
fn launch_on_nodes(
    ppn: Option<u32>,
    ranks: u32,
    work: Vec<PlannedWork>,
    way: Synchronisation,
    skew: &[(&str, f64)],
) -> Vec<Record> {
    let mut bench = Bench::new(work);
    bench.plan.synchronisation = way;
    bench.plan.pretended_ppn = ppn.and_then(NonZero::new);
    bench.plan.cores = Some(2);
    bench.plan.repetition.minimum = REPETITIONS;
    bench.plan.repetition.maximum = REPETITIONS;
    bench.plan.repetition.slice_seconds = 1.0;
    bench.preload(include_str!("skew.c"), &["-O1", "-ldl"]);
    let variables = skew.iter();
    bench
        .environment
        .extend(variables.map(|(name, value)| (name.into(), value.to_string().into())));
    let (exit, records) = bench.run(ranks);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    records
}

fn start(records: &[Record]) -> &LaunchStart {
    match &records[0] {
        Record::Started(start) => start,
        other => panic!("{other:?} is first"),
    }
}

fn measurements(records: &[Record]) -> Vec<&Measurement> {
    let done = records.iter().filter_map(|record| match record {
        Record::Done(done) => Some(&done.measurements[0]),
        _ => None,
    });
    done.collect()
}

/// `count` tasks that each compare an allreduce of 64 KiB.
fn tasks(count: usize, ranks: u32) -> Vec<PlannedWork> {
    let work = allreduce(ranks, 1 << 16, vec![Candidate::Default]);
    vec![work; count]
}

/// Asserts that enough repetitions are valid; returns the median of these.
#[track_caller]
fn median(measured: &Measurement) -> f64 {
    let is_valid = |place: u32| !measured.invalid.contains(&place);
    let valid = measured.seconds.iter().zip(0..);
    let mut valid: Vec<f64> = valid
        .filter_map(|(seconds, place)| is_valid(place).then_some(*seconds))
        .collect();
    assert_eq!(valid.len() + measured.invalid.len(), measured.seconds.len());
    assert!(
        valid.len() >= REPETITIONS as usize,
        "{} are valid",
        valid.len()
    );
    valid.sort_by(f64::total_cmp);
    valid[valid.len() / 2]
}

/// Clocks are ahead by a minute and run faster by 50 ppm, times the rank.
#[test]
fn mpi_launches_recover_the_offsets_and_drifts_of_clocks() {
    let skew = [("SKEW_OFFSET", 60.0), ("SKEW_DRIFT", 50e-6)];
    // If ranks outnumber cores, their clocks can be compared less accurately.
    let (quiet, crowded) = ((2, 5e-6, 50e-6), (4, 25e-6, 20e-3));
    let launches = match chosen_family() {
        LibraryName::Mpich | LibraryName::IntelMpi => vec![quiet],
        // Rank 3 learns from rank 1.
        LibraryName::OpenMpi => vec![quiet, crowded],
    };
    for (ranks, drift_error, most_residual) in launches {
        let records = launch(ranks, tasks(2, ranks), Synchronisation::Window, &skew);
        let clocks = &start(&records).environment.clocks;
        assert_eq!(clocks.len(), ranks as usize);
        for (rank, clock) in (0..ranks).map(f64::from).zip(clocks) {
            let drift = 1.0 / (1.0 + 50e-6 * rank) - 1.0;
            assert!((clock.drift - drift).abs() < drift_error, "{clocks:?}");
            // At 50 ppm, some seconds after the start, or some minutes on a busy machine.
            let ahead = -clock.offset_seconds - 60.0 * rank;
            assert!((0.0..=20e-3 * rank).contains(&ahead), "{clocks:?}");
        }
        for measured in measurements(&records) {
            let residual = measured.residual_seconds.expect("a global clock");
            assert!(residual > 0.0 && residual < most_residual, "{residual:e}");
        }
    }
}

/// The first ranks of nodes learn from each other, and the other ranks learn from these: 2 from 0, then 1 from 0 and 3
/// from 2. Cells on some of the nodes or ranks use what the whole launch has learned.
#[test]
fn clocks_are_learned_node_by_node_under_openmpi() {
    if chosen_family() == LibraryName::Mpich {
        return;
    }
    let on = |nodes, ppn| {
        let mut work = allreduce(4, 1 << 16, vec![Candidate::Default]);
        if let PlannedWork::Compare { cell, .. } = &mut work {
            cell.shape = CommShape { nodes, ppn };
        }
        work
    };
    let skew = [("SKEW_OFFSET", 60.0), ("SKEW_DRIFT", 50e-6)];
    let launched = || {
        let work = vec![on(2, 2), on(2, 1), on(1, 2), on(2, 2)];
        launch_on_nodes(Some(2), 4, work, Synchronisation::Window, &skew)
    };
    let drifts_as_set = |rank: f64, clock: &RankClock| {
        let drift = 1.0 / (1.0 + 50e-6 * rank) - 1.0;
        (clock.drift - drift).abs() < 25e-6
    };
    let ranks = || (0..4).map(f64::from);
    let all_drift_as_set = |records: &[Record]| {
        let mut clocks = ranks().zip(&start(records).environment.clocks);
        clocks.all(|(rank, clock)| drifts_as_set(rank, clock))
    };
    // Four ranks share two cores, and a launch learned a drift that was 25.3e-6 off. So fresh launches confirm a failure.
    let mut records = launched();
    for _ in 0..2 {
        if !all_drift_as_set(&records) {
            records = launched();
        }
    }
    let environment = &start(&records).environment;
    let sizes: Vec<u32> = environment.nodes.iter().map(Node::ranks).collect();
    assert_eq!(sizes, [2, 2]);
    for (rank, clock) in ranks().zip(&environment.clocks) {
        assert!(drifts_as_set(rank, clock), "{clock:?}");
        let ahead = -clock.offset_seconds - 60.0 * rank;
        assert!((0.0..=20e-3 * rank).contains(&ahead), "{clock:?}");
    }
    let all_measured = measurements(&records);
    assert_eq!(all_measured.len(), 4);
    for measured in all_measured {
        let residual = measured.residual_seconds.expect("a global clock");
        assert!(residual > 0.0 && residual < 20e-3, "{residual:e}");
        assert!(
            measured.seconds.len() > measured.invalid.len(),
            "{measured:?}"
        );
    }
}

#[test]
fn mpi_times_agree_with_those_after_a_barrier() {
    let skew = [("SKEW_OFFSET", -3.5), ("SKEW_DRIFT", 100e-6)];
    let times = || {
        let barrier = launch(2, tasks(1, 2), Synchronisation::Barrier, &skew);
        assert!(start(&barrier).environment.clocks.is_empty());
        let barrier = measurements(&barrier)[0];
        assert_eq!(barrier.residual_seconds, None);
        assert!(barrier.invalid.is_empty());
        let window = launch(2, tasks(1, 2), Synchronisation::Window, &skew);
        (median(measurements(&window)[0]), median(barrier))
    };
    // A launch may be slow as a whole, and its times then differ from those of others. With wrong clocks no pair of
    // launches agrees.
    let mut pairs = Vec::new();
    for _ in 0..5 {
        let (window, barrier) = times();
        pairs.push((window, barrier));
        if (0.6..1.6).contains(&(window / barrier)) {
            return;
        }
    }
    panic!("windows and barriers: {pairs:?}");
}

#[test]
fn an_mpi_clock_that_changes_during_a_launch_is_learned_again() {
    for change in [
        ("SKEW_JUMP", 2e-3),
        ("SKEW_JUMP", -2e-3),
        ("SKEW_TURN", 1e-2),
    ] {
        // Under MPICH, medians of tasks of one launch were 27 us or 67 us while the residuals showed that
        // clocks agreed, so fresh launches confirm a failure.
        let mut pairs = Vec::new();
        loop {
            let (first, last) = first_and_last_median(change);
            if (0.5..2.0).contains(&(last / first)) {
                break;
            }
            pairs.push((first, last));
            assert!(pairs.len() < 5, "{change:?}: first and last {pairs:?}");
        }
    }
}

/// The medians of the first and the last task of a launch with a clock that changes in between, which is noticed.
fn first_and_last_median(change: (&str, f64)) -> (f64, f64) {
    let skew = [("SKEW_OFFSET", 1.0), ("SKEW_AFTER", 1000.0), change];
    let records = launch(2, tasks(16, 2), Synchronisation::Window, &skew);
    let measured = measurements(&records);
    let residuals = measured.iter().map(|measured| measured.residual_seconds);
    let residuals: Vec<f64> = residuals.flatten().collect();
    assert_eq!(residuals.len(), 16);
    let say = format!("{change:?}: {residuals:?}");
    let is_wrong = |seconds: &&f64| **seconds > 50e-6;
    let wrong = residuals.iter().filter(is_wrong).count();
    // Only the task in which the clock jumped shows the jump.
    if change.0 == "SKEW_JUMP" {
        assert_eq!(wrong, 1, "{say}");
        assert!(residuals.iter().any(|seconds| *seconds > 1.9e-3), "{say}");
    }
    assert!(
        !residuals[12..].iter().any(|seconds| *seconds > 50e-6),
        "{say}"
    );
    (median(measured[0]), median(measured[15]))
}

/// Every 16th call takes 2 ms longer on rank 1.
///
/// A series takes about 500 us, but has at least four repetitions, the last of which overruns no other. On a slow
/// machine, calls of 64 KiB take so long that no series has more; those of 8 KiB leave room for many. A launch beside a
/// build found 12 of 17, fewer than three quarters. In other launches, each turn began with a slow call, which made all
/// others of the turn invalid, and the driver gave up. So fresh launches confirm a failure.
#[test]
fn repetitions_that_a_slow_mpi_rank_overruns_are_invalid() {
    let slowness = [("SLOW_EVERY", 16.0), ("SLOW_SECONDS", 2e-3)];
    let mut shares = Vec::new();
    for _ in 0..3 {
        let work = allreduce(2, 1 << 13, vec![Candidate::Default]);
        let records = launch(2, vec![work], Synchronisation::Window, &slowness);
        let measured = measurements(&records)[0];
        let (overruns, slow) = overruns(measured);
        let valid = measured.seconds.len() - measured.invalid.len();
        // Only the last repetition of a series overruns no other.
        if valid >= REPETITIONS as usize && 4 * overruns > 3 * slow {
            assert!(median(measured) < 1e-3, "{measured:?}");
            return;
        }
        shares.push(format!("{overruns} of {slow}, {valid} valid"));
    }
    panic!("{shares:?}");
}

/// The number of slow calls that made their repetitions invalid, and the number of slow calls.
fn overruns(measured: &Measurement) -> (u32, u32) {
    let (mut overruns, mut slow) = (0, 0);
    for (place, seconds) in (0..).zip(&measured.seconds) {
        if (measured.warmup + place + 1).is_multiple_of(16) {
            assert!(*seconds > 1.9e-3, "{place}: {seconds:e}");
            slow += 1;
            overruns += u32::from(measured.invalid.contains(&place));
        }
    }
    (overruns, slow)
}

#[test]
fn windows_on_shared_cores_are_measured_and_warned_of_under_openmpi() {
    if chosen_family() == LibraryName::Mpich {
        return;
    }
    let skew = [("SKEW_OFFSET", 1.0)];
    let records = launch(4, tasks(1, 4), Synchronisation::Window, &skew);
    let environment = &start(&records).environment;
    assert!(environment.warnings.contains(&Warning::CrowdedWindows));
    assert_eq!(measurements(&records).len(), 1, "{records:?}");
}
