//! From records to samples.

use std::path::Path;

use rusqlite::Connection;
use store::{Store, StoreError};
use vocabulary::{Candidate, Elimination, Library, Pattern, Purpose, Sample, Subject};
use wire::{FailureKind, Finish, Record, TimeBreakdown};

use crate::fixture::{
    cell, done, dual_root, first_plan, first_plan_as, library, ping_pong, plan, started,
    store_with, times,
};

fn failed(task: u32, candidate: u32, kind: FailureKind) -> Record {
    Record::Failed {
        task,
        candidate,
        kind,
        message: format!("{} | there", kind.name()),
    }
}

fn sample(launch: u32, subject: Subject, candidate: Candidate, seconds: &[f64]) -> Sample {
    Sample {
        launch,
        subject,
        candidate,
        batch: 4,
        seconds: seconds.to_vec(),
        invalid: 0,
        residual_seconds: None,
        left: None,
    }
}

#[test]
fn invalid_times_are_stored_and_not_returned() {
    let plan = first_plan(1);
    let mut store = store_with(&plan);
    let Record::Done(mut record) = done(1, &[vec![1.0, 9.0, 2.0, 8.0], vec![3.0]]) else {
        unreachable!("a task's record");
    };
    let left = Elimination {
        round: 7,
        leader: 1,
        ratio: 1.5,
        saved_repetitions: 100.0,
        saved_seconds: 0.25,
    };
    record.measurements[0].invalid = vec![1, 3];
    record.measurements[0].residual_seconds = Some(2e-7);
    record.measurements[0].left = Some(left);
    store
        .ingest_record(&plan, &Record::Done(record))
        .expect("stored");
    let samples = store
        .samples(&library("openmpi"), Pattern::Together)
        .expect("readable");
    let expected = Sample {
        invalid: 2,
        residual_seconds: Some(2e-7),
        left: Some(left),
        ..sample(1, Subject::Cell(cell(8)), Candidate::Default, &[1.0, 2.0])
    };
    assert_eq!(samples[0], expected);
    assert_eq!((samples[1].invalid, samples[1].left), (0, None));
}

#[test]
fn times_of_different_patterns_are_separate() {
    let mut one = first_plan(2);
    one.tasks[2].pattern = Pattern::Repeated;
    // Experiments have their own patterns.
    one.tasks[0].pattern = Pattern::Repeated;
    let mut store = store_with(&one);
    let seconds = |seconds: f64| [vec![seconds], vec![seconds]];
    for (task, times) in [
        (0, &seconds(0.5)[..1]),
        (1, &seconds(1.0)),
        (2, &seconds(2.0)),
    ] {
        store
            .ingest_record(&one, &done(task, times))
            .expect("stored");
    }
    let (together, repeated) = (Subject::Cell(cell(8)), Subject::Cell(cell(16)));
    let experiment = sample(
        1,
        Subject::Experiment(ping_pong()),
        Candidate::Default,
        &[0.5],
    );
    let check = |pattern, subject: Option<(Subject, f64)>| {
        let mut expected: Vec<Sample> = Vec::new();
        if let Some((subject, expected_seconds)) = subject {
            expected.push(sample(1, subject, Candidate::Default, &[expected_seconds]));
            expected.push(sample(1, subject, dual_root(), &[expected_seconds]));
        }
        expected.push(experiment.clone());
        let library = library("openmpi");
        let samples = store.samples(&library, pattern).expect("readable");
        assert_eq!(samples, expected, "{pattern}");
        let counts = store.launch_counts(&library, pattern).expect("readable");
        let counted: Vec<_> = counts.into_keys().collect();
        let keys = expected.into_iter();
        let keys: Vec<_> = keys.map(|s| (s.subject, s.candidate)).collect();
        assert_eq!(counted, keys, "{pattern}");
    };
    check(Pattern::Together, Some((together, 1.0)));
    check(Pattern::Repeated, Some((repeated, 2.0)));
    check(Pattern::Skewed, None);
    let launches = store.measured_launches(&library("openmpi"));
    assert_eq!(launches.expect("readable"), [1].into());
}

#[test]
fn exploring_and_confirming_launches_are_separate() {
    let explores = first_plan(1);
    let mut store = store_with(&explores);
    let mut confirms = plan(2, library("openmpi"), Path::new("spool-2.jsonl"), 1);
    confirms.purpose = Some(Purpose::Confirming);
    store.begin_launch(&confirms).expect("begun");
    for (plan, seconds) in [(&explores, 1.0), (&confirms, 2.0)] {
        let times = [vec![seconds], vec![seconds]];
        store.ingest_record(plan, &done(1, &times)).expect("stored");
    }
    let (library, pattern) = (library("openmpi"), Pattern::Together);
    let launches = |samples: Vec<Sample>| samples.iter().map(|s| s.launch).collect::<Vec<_>>();
    let samples = store.samples(&library, pattern).expect("readable");
    assert_eq!(launches(samples), [1, 1]);
    let confirming = store
        .confirming_samples(&library, pattern)
        .expect("readable");
    assert_eq!(launches(confirming), [2, 2]);
    let counts = store.launch_counts(&library, pattern).expect("readable");
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    let seconds = |purpose| {
        store
            .measuring_seconds(&library, purpose)
            .expect("readable")
    };
    let both = [Purpose::Exploring, Purpose::Confirming].map(|purpose| seconds(Some(purpose)));
    assert_eq!(both, [0.25, 0.25]);
    assert_eq!(seconds(None), 0.5);
    let purposes = store
        .launches()
        .expect("readable")
        .into_iter()
        .map(|row| row.purpose);
    assert!(purposes.eq([None, Some(Purpose::Confirming)]));
}

#[test]
fn samples_come_back_bit_for_bit_in_the_order_of_content() {
    let (one, awkward) = (first_plan(2), [0.1 + 0.2, 0.0, 1e-15, 1e-6, 1e9]);
    let mut store = store_with(&one);
    // Task 2 before task 1, the experiment last, a second launch after the first.
    store
        .ingest_record(&one, &done(2, &[vec![2.0], awkward.to_vec()]))
        .expect("stored");
    store
        .ingest_record(&one, &done(1, &[vec![1.0], vec![]]))
        .expect("stored");
    store
        .ingest_record(&one, &done(0, &[vec![0.5]]))
        .expect("stored");
    let two = plan(2, library("openmpi"), Path::new("spool-2.jsonl"), 1);
    store.begin_launch(&two).expect("begun");
    store
        .ingest_record(&two, &done(1, &[vec![1.5], vec![1.25]]))
        .expect("stored");

    let (small, large) = (Subject::Cell(cell(8)), Subject::Cell(cell(16)));
    let experiment = Subject::Experiment(ping_pong());
    let expected = [
        sample(1, small, Candidate::Default, &[1.0]),
        sample(2, small, Candidate::Default, &[1.5]),
        sample(2, small, dual_root(), &[1.25]),
        sample(1, large, Candidate::Default, &[2.0]),
        sample(1, large, dual_root(), &awkward),
        sample(1, experiment, Candidate::Default, &[0.5]),
    ];
    assert_eq!(
        store
            .samples(&library("openmpi"), Pattern::Together)
            .expect("readable"),
        expected
    );

    assert_eq!(
        store
            .experiment_samples(&library("openmpi"))
            .expect("readable"),
        expected[5..]
    );
    assert!(
        store
            .experiment_samples(&library("mpich"))
            .expect("readable")
            .is_empty()
    );

    let counts = store
        .launch_counts(&library("openmpi"), Pattern::Together)
        .expect("readable");
    assert_eq!(counts.get(&(small, Candidate::Default)), Some(&2));
    assert_eq!(
        counts.get(&(small, dual_root())),
        Some(&1),
        "an empty measurement is none"
    );
    assert_eq!(counts.len(), 5);
    assert_eq!(
        store
            .measuring_seconds(&library("openmpi"), None)
            .expect("readable"),
        1.0
    );
}

#[test]
fn half_an_entry_is_damage() {
    let folder = tempfile::tempdir().expect("temporary folder");
    for (number, (seconds, invalid)) in [(15, 0), (16, 11)].into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.db"));
        let plan = first_plan(1);
        let mut store = Store::open_or_create(&path).expect("created");
        store
            .record_campaign("digest", "a", "name: a")
            .expect("stored");
        store.begin_launch(&plan).expect("begun");
        store
            .ingest_record(&plan, &done(1, &[vec![1.0]]))
            .expect("stored");
        let outsider = Connection::open(&path).expect("opened");
        outsider
            .execute(
                "INSERT INTO sample VALUES (1, 1, 1, 1, 3, 1, zeroblob(?1), zeroblob(?2), NULL, NULL)",
                [seconds, invalid],
            )
            .expect("damaged");
        let error = store
            .samples(&library("openmpi"), Pattern::Together)
            .expect_err("damaged");
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    }
}

#[test]
fn a_record_counts_once() {
    let plan = first_plan(2);
    let mut store = store_with(&plan);
    let records = [
        started(&plan),
        Record::Trying {
            task: 1,
            candidate: 0,
        },
        failed(1, 1, FailureKind::Hang),
        done(1, &[vec![1.0]]),
        done(2, &[vec![2.0], vec![3.0]]),
        Record::Finished {
            reason: Finish::Complete,
        },
    ];
    let mut ingest_all = || -> Vec<bool> {
        records
            .iter()
            .map(|record| store.ingest_record(&plan, record).expect("stored"))
            .collect()
    };
    assert_eq!(ingest_all(), [true, false, true, true, true, false]);
    assert_eq!(ingest_all(), [false; 6]);
    // The first report counts, even if a second one differs.
    assert_eq!(
        store
            .ingest_record(&plan, &done(1, &[vec![9.0], vec![9.0]]))
            .ok(),
        Some(false)
    );
    let samples = store
        .samples(&library("openmpi"), Pattern::Together)
        .expect("readable");
    assert_eq!(
        samples.iter().map(|s| s.seconds[0]).collect::<Vec<_>>(),
        [1.0, 2.0, 3.0]
    );
    assert_eq!(
        store
            .measuring_seconds(&library("openmpi"), None)
            .expect("readable"),
        0.5
    );
    assert_eq!(
        store.failures(&library("openmpi")).expect("readable").len(),
        1
    );
}

#[test]
fn records_that_do_not_fit_the_plan_are_refused_as_a_whole() {
    let plan = first_plan(1);
    let mut store = store_with(&plan);
    let mut check = |record: &Record, expected: &str| {
        let error = store.ingest_record(&plan, record).expect_err("refused");
        assert!(matches!(error, StoreError::Unplanned { .. }), "{error:?}");
        assert!(error.to_string().starts_with(expected), "{error}");
    };
    check(
        &done(7, &[vec![1.0]]),
        "launch 1 reported task 7, which its plan does not have",
    );
    check(
        &done(1, &[vec![1.0], vec![2.0], vec![3.0]]),
        "launch 1 reported candidate 2 of task 1, which has 2",
    );
    check(
        &failed(0, 1, FailureKind::Crash),
        "launch 1 reported candidate 1 of task 0, which has 1",
    );
    let campaign = &plan.campaign;
    check(
        &started(&first_plan_as(5)),
        &format!(
            "launch 5 of campaign {campaign} reported itself where launch 1 of campaign {campaign} was expected"
        ),
    );
    assert!(
        store
            .samples(&library("openmpi"), Pattern::Together)
            .expect("readable")
            .is_empty()
    );
    assert!(
        store
            .failures(&library("openmpi"))
            .expect("readable")
            .is_empty()
    );

    let never_begun = first_plan_as(5);
    let error = store
        .ingest_record(&never_begun, &done(1, &[vec![1.0]]))
        .expect_err("no");
    assert!(
        matches!(error, StoreError::NotUnderWay { launch: 5, .. }),
        "{error:?}"
    );
}

#[test]
fn libraries_are_separate() {
    let ours = first_plan(1);
    let mut store = store_with(&ours);
    let theirs = plan(2, library("mpich"), Path::new("spool-2.jsonl"), 1);
    store.begin_launch(&theirs).expect("begun");
    for plan in [&ours, &theirs] {
        let seconds = f64::from(plan.launch);
        store.ingest_record(plan, &started(plan)).expect("stored");
        store
            .ingest_record(plan, &done(1, &[vec![seconds]]))
            .expect("stored");
        store
            .ingest_record(plan, &failed(1, 1, FailureKind::MpiError))
            .expect("stored");
    }
    assert_eq!(
        store.libraries().expect("readable"),
        [library("mpich"), library("openmpi")]
    );
    for (name, launch) in [("openmpi", 1), ("mpich", 2)] {
        let library = library(name);
        let samples = store
            .samples(&library, Pattern::Together)
            .expect("readable");
        assert_eq!(
            samples.iter().map(|s| s.launch).collect::<Vec<_>>(),
            [launch]
        );
        assert_eq!(
            store
                .launch_counts(&library, Pattern::Together)
                .expect("readable")
                .len(),
            1
        );
        assert_eq!(
            store.failures(&library).expect("readable")[0].launch,
            launch
        );
        assert_eq!(
            store.measuring_seconds(&library, None).expect("readable"),
            0.25
        );
        let environments = store.environments(&library).expect("readable");
        assert_eq!(environments.len(), 1);
        assert_eq!(
            (environments[0].0, environments[0].1.launch),
            (launch, launch)
        );
        assert_eq!(environments[0].1.environment.load, 0.1 + 0.2);
    }
    let absent = Library {
        version: "5.0.0".to_owned(),
        ..library("openmpi")
    };
    assert!(
        store
            .samples(&absent, Pattern::Together)
            .expect("readable")
            .is_empty()
    );
    assert_eq!(
        store.measuring_seconds(&absent, None).expect("readable"),
        0.0
    );

    assert_eq!(
        store.forget_failures(&library("mpich")).expect("forgotten"),
        1
    );
    assert!(
        store
            .failures(&library("mpich"))
            .expect("readable")
            .is_empty()
    );
    assert_eq!(
        store.failures(&library("openmpi")).expect("readable").len(),
        1
    );
}

/// Earlier versions recorded them, for ever, if the ranks of one launch did not find each other.
#[test]
fn failures_of_launches_with_too_few_ranks_are_none() {
    let plan = first_plan(1);
    let mut store = store_with(&plan);
    let fails = |kind, message: &str| Record::Failed {
        task: 1,
        candidate: u32::from(kind == FailureKind::Crash),
        kind,
        message: message.to_owned(),
    };
    let too_few = "too few nodes, or too few ranks on a node";
    for kind in [FailureKind::Unsupported, FailureKind::Crash] {
        store
            .ingest_record(&plan, &fails(kind, too_few))
            .expect("stored");
    }
    let kinds = |current: &Store| -> Vec<FailureKind> {
        let failures = current.failures(&library("openmpi")).expect("readable");
        failures.iter().map(|failure| failure.kind).collect()
    };
    assert_eq!(kinds(&store), [FailureKind::Crash]);
}

#[test]
fn removed_failures_stay_removed_and_new_ones_count() {
    let plan = first_plan(1);
    let mut store = store_with(&plan);
    let library = library("openmpi");
    let record = failed(1, 1, FailureKind::WrongResult);
    store.ingest_record(&plan, &record).expect("stored");
    let failures = store.failures(&library).expect("readable");
    assert_eq!(failures.len(), 1);
    assert_eq!(
        (failures[0].subject, &failures[0].candidate),
        (Subject::Cell(cell(8)), &dual_root())
    );
    assert_eq!(failures[0].kind, FailureKind::WrongResult);
    assert_eq!(failures[0].message, "wrong_result | there");

    assert_eq!(store.forget_failures(&library).expect("forgotten"), 1);
    assert_eq!(store.forget_failures(&library).expect("forgotten"), 0);
    assert!(!store.ingest_record(&plan, &record).expect("read again"));
    assert!(store.failures(&library).expect("readable").is_empty());

    let next = first_plan_as(2);
    store.begin_launch(&next).expect("begun");
    store
        .ingest_record(&next, &failed(1, 1, FailureKind::Crash))
        .expect("stored");
    assert_eq!(
        store.failures(&library).expect("readable")[0].kind,
        FailureKind::Crash
    );
}

/// A campaign of 10^5 batches of 100 repetitions must stay below 200 MB; this is a fortieth.
#[test]
fn the_file_is_compact() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("a.db");
    let plan = plan(1, library("openmpi"), &folder.path().join("spool"), 1250);
    let mut store = Store::open_or_create(&path).expect("created");
    store
        .record_campaign("digest", "a", "name: a")
        .expect("stored");
    store.begin_launch(&plan).expect("begun");
    for task in 1..=1250 {
        let record = done(task, &[times(task, 0, 100), times(task, 1, 100)]);
        store.ingest_record(&plan, &record).expect("stored");
    }
    drop(store);
    let bytes = std::fs::metadata(&path).expect("there").len();
    assert!(bytes < 200_000_000 / 40, "{bytes} bytes for 2500 batches");
    assert!(
        bytes > 2500 * 100 * 8,
        "{bytes} bytes cannot hold all repetitions"
    );
}

#[test]
fn activities_are_added_up_over_the_tasks_that_report_them() {
    let plan = first_plan(3);
    let mut store = store_with(&plan);
    let library = library("openmpi");
    assert_eq!(store.time_breakdown(&library).expect("readable"), None);
    let spending = TimeBreakdown {
        preparing_seconds: 0.0625,
        starting_seconds: 0.03125,
        calling_seconds: 0.125,
    };
    for (task, spent) in [(1, Some(spending)), (2, None), (3, Some(spending))] {
        let Record::Done(mut record) = done(task, &[vec![1.0], vec![2.0]]) else {
            unreachable!("a task's record");
        };
        record.spent = spent;
        store
            .ingest_record(&plan, &Record::Done(record))
            .expect("stored");
    }
    let (elapsed_seconds, sum) = store
        .time_breakdown(&library)
        .expect("readable")
        .expect("two tell");
    let expected = TimeBreakdown {
        preparing_seconds: 0.125,
        starting_seconds: 0.0625,
        calling_seconds: 0.25,
    };
    assert_eq!((elapsed_seconds, sum), (0.5, expected));
    let shares = sum.shares_of_elapsed(elapsed_seconds);
    assert_eq!((shares.calls, shares.starts), (0.5, 0.125));
    assert_eq!((shares.preparing, shares.own), (0.25, 0.125));
}

#[test]
fn impossible_times_are_damage() {
    for impossible in [-1e-9, 1e-320, 1e10, f64::MAX, f64::INFINITY, f64::NAN] {
        let one = first_plan(2);
        let mut store = store_with(&one);
        store
            .ingest_record(&one, &done(1, &[vec![1e-6, impossible], vec![]]))
            .expect("stored");
        let read = store.samples(&library("openmpi"), Pattern::Together);
        assert!(
            matches!(read, Err(StoreError::Corrupt { .. })),
            "{impossible}: {read:?}"
        );
    }
}
