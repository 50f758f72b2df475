//! Every way in which a launch can end.

use std::fs::File;
use std::time::{Duration, Instant};

use launcher::Outcome;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use vocabulary::{Candidate, Parameters};
use wire::{FailureKind, Finish, Record, UNTIL_VARIABLE, exit_code};

use crate::launch::{Bench, allreduce, assert_code, finish, ours};

fn default_only() -> Vec<wire::PlannedWork> {
    vec![allreduce(2, 1024, vec![Candidate::Default])]
}

/// A cell that continues until it is stopped.
fn endless() -> Bench {
    let algorithm = ours("allreduce/dual_root", Parameters::default());
    let mut bench = Bench::new(vec![allreduce(
        2,
        1 << 16,
        vec![Candidate::Default, algorithm],
    )]);
    bench.plan.repetition.minimum = u32::MAX;
    bench.plan.repetition.maximum = u32::MAX;
    bench.plan.repetition.slice_seconds = 1.0;
    bench
}

fn is_trying(record: &Record) -> bool {
    matches!(record, Record::Trying { .. })
}

#[test]
fn another_version_of_the_library_is_refused() {
    let mut bench = Bench::new(default_only());
    bench.plan.library.version = "0.0.1".to_owned();
    let (exit, records) = bench.run(2);
    assert_code(&exit, exit_code::LIBRARY);
    assert!(
        exit.tail.iter().any(|line| line.contains("-0.0.1")),
        "{:?}",
        exit.tail
    );
    assert_eq!(records, []);
}

#[test]
fn a_plan_of_another_version_or_a_missing_plan_is_refused() {
    let mut bench = Bench::new(default_only());
    bench.plan.version = 99;
    let (exit, _) = bench.run(2);
    assert_code(&exit, exit_code::PLAN);
    assert!(
        exit.tail.iter().any(|line| line.contains("99")),
        "{:?}",
        exit.tail
    );
    let absent_exit = finish(bench.start_on(&bench.path("absent.json"), 2).as_mut());
    assert_code(&absent_exit, exit_code::PLAN);
    std::fs::write(bench.path("broken.json"), "{\"version\": 1, ").expect("written");
    let broken_exit = finish(bench.start_on(&bench.path("broken.json"), 2).as_mut());
    assert_code(&broken_exit, exit_code::PLAN);
}

#[test]
fn a_full_disk_ends_the_launch() {
    let mut bench = Bench::new(default_only());
    bench.plan.spool = "/dev/full".into();
    let exit = finish(bench.start(2).as_mut());
    assert_code(&exit, exit_code::FAILED);
    let said = |words: &str| exit.tail.iter().any(|line| line.contains(words));
    assert!(
        said("/dev/full") && said("No space left"),
        "{:?}",
        exit.tail
    );
}

#[test]
fn candidates_that_cannot_run_fail_alone() {
    let blocks = Parameters {
        blocks: Some(2),
        ..Parameters::default()
    };
    let candidates = vec![
        Candidate::Default,
        ours("allreduce/nonesuch", Parameters::default()),
        ours("allreduce/ring", blocks),
        ours("bcast/binomial", Parameters::default()),
        ours("allreduce/ring", Parameters::default()),
    ];
    let (exit, records) = Bench::new(vec![allreduce(2, 64, candidates)]).run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    // Failures are recorded in the order of admission.
    let mut failed: Vec<u32> = records
        .iter()
        .filter_map(|record| match record {
            Record::Failed {
                candidate,
                kind: FailureKind::Unsupported,
                message,
                ..
            } => {
                assert!(!message.is_empty());
                Some(*candidate)
            }
            _ => None,
        })
        .collect();
    failed.sort_unstable();
    assert_eq!(failed, [1, 2, 3]);
    let Some(Record::Done(done)) = records.iter().find(|r| matches!(r, Record::Done(_))) else {
        panic!("{records:?}");
    };
    let measured: Vec<u32> = done.measurements.iter().map(|m| m.candidate).collect();
    assert_eq!(measured, [0, 4]);
}

/// So the places of candidates in memory differ in each launch.
#[test]
fn the_default_is_admitted_first_and_the_others_in_an_order_of_the_launch() {
    let others = [
        "ring",
        "recursive_doubling",
        "rabenseifner",
        "pipelined_tree",
        "dual_root",
    ];
    let others = others.map(|id| ours(&format!("allreduce/{id}"), Parameters::default()));
    let candidates = [&others[..2], &[Candidate::Default], &others[2..]].concat();
    let order = |seed| {
        let mut bench = Bench::new(vec![allreduce(2, 64, candidates.clone())]);
        bench.plan.seed = seed;
        let (_, records) = bench.run(2);
        let tried = records.iter().filter_map(|record| match record {
            Record::Trying { candidate, .. } => Some(*candidate),
            _ => None,
        });
        tried.take(candidates.len()).collect::<Vec<u32>>()
    };
    let orders = [order(1), order(2), order(3)];
    for admitted in &orders {
        assert_eq!(admitted[0], 2, "{orders:?}");
        let mut sorted = admitted.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5], "{orders:?}");
    }
    assert!(
        orders[0] != orders[1] || orders[1] != orders[2],
        "{orders:?}"
    );
}

/// No candidate is to blame, and the tuner learns from the first record what was started.
#[test]
fn a_launch_smaller_than_a_shape_of_its_plan_measures_nothing() {
    let mut work = default_only();
    work.push(allreduce(5, 64, vec![Candidate::Default]));
    let (exit, records) = Bench::new(work).run(2);
    assert_code(&exit, exit_code::START);
    let [Record::Started(start)] = &records[..] else {
        panic!("{records:?}");
    };
    let world = start.environment.world();
    assert_eq!(world.to_string(), "2 ranks on 1 node");
    let told =
        |line: &String| line.contains("MPI started 2 ranks on 1 node, but the plan needs 1x5");
    assert!(exit.tail.iter().any(told), "{:?}", exit.tail);
}

#[test]
fn no_task_begins_after_the_deadline() {
    let mut bench = Bench::new(default_only());
    bench.plan.deadline_seconds = Some(0.0);
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    assert_eq!(
        records[1..],
        [Record::Finished {
            reason: Finish::Deadline
        }]
    );
}

/// A job of a batch system may end earlier than the plan's deadline.
#[test]
fn no_task_begins_after_the_end_of_the_batch_allocation() {
    for (until, reason) in [("1000", Finish::Deadline), ("9999999999", Finish::Complete)] {
        let mut bench = Bench::new(default_only());
        bench.environment = vec![(UNTIL_VARIABLE.into(), until.into())];
        let (exit, records) = bench.run(2);
        assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
        assert_eq!(records.last(), Some(&Record::Finished { reason }));
    }
}

#[test]
fn a_hanging_candidate_is_named_and_ends_the_launch() {
    // From outside, a stopped rank looks like a deadlock.
    for victim in [1, 0] {
        let mut bench = endless();
        bench.plan.watchdog_seconds = 1.0;
        let mut running = bench.start(2);
        bench.wait_for(is_trying);
        let process = Pid::from_raw(bench.process_of(victim));
        kill(process, Signal::SIGSTOP).expect("stopped");
        let exit = finish(running.as_mut());
        assert_code(&exit, exit_code::HANG);
        let last = bench.records().pop().expect("records");
        let is_hang = matches!(
            last,
            Record::Failed {
                task: 0,
                kind: FailureKind::Hang,
                ..
            }
        );
        // Rank 0 writes the records. If it is the stopped rank, only the exit code shows the hang, unless the launcher
        // wakes it up to end it and it has time to write.
        assert!(is_hang || (victim == 0 && is_trying(&last)), "{last:?}");
    }
}

#[test]
fn a_rank_that_dies_leaves_its_candidate_in_flight() {
    let bench = endless();
    let mut running = bench.start(2);
    bench.wait_for(is_trying);
    kill(Pid::from_raw(bench.process_of(1)), Signal::SIGKILL).expect("killed");
    let exit = finish(running.as_mut());
    assert!(
        matches!(exit.outcome, Outcome::Code(code) if code != 0),
        "{:?}",
        exit.outcome
    );
    assert!(is_trying(&bench.records().pop().expect("records")));
}

#[test]
fn ranks_do_not_outlive_the_holder_of_the_lock() {
    let mut bench = endless();
    let path = bench.path("lock");
    let file = File::create(&path).expect("created");
    let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).expect("locked");
    bench.plan.parent_lock = Some(path);
    let mut running = bench.start(2);
    bench.wait_for(is_trying);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(
        running.poll().expect("watched"),
        None,
        "a held lock keeps the launch going"
    );
    lock.unlock().expect("unlocked");
    let released = Instant::now();
    let exit = finish(running.as_mut());
    assert_code(&exit, exit_code::ORPHANED);
    assert!(released.elapsed() < Duration::from_secs(10));
}
