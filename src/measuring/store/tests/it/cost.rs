//! The costs of launches.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use store::{LaunchOutcome, Store};
use wire::{Finish, Plan};

use crate::fixture::{done, library, plan, started};

/// A launch: its outcome, if it has ended; its wall-clock seconds; its completed tasks of 0.25 seconds.
type Launched = (Option<LaunchOutcome>, i64, u32);

fn complete() -> Option<LaunchOutcome> {
    Some(Finish::Complete.into())
}

fn died() -> Option<LaunchOutcome> {
    let message = "signal 9".to_owned();
    Some(LaunchOutcome::Died { message })
}

/// A store with these launches of Open MPI, each of another campaign and with a deadline of 50 seconds and a watchdog
/// of 30; their starts are set back in time.
fn store_with(path: &Path, launches: &[Launched]) -> Store {
    let mut store = Store::open_or_create(path).expect("created");
    let clock = Connection::open(path).expect("opened");
    for (number, (outcome, wall_seconds, tasks)) in (1..).zip(launches) {
        let plan = Plan {
            campaign: format!("digest {number}"),
            deadline_seconds: Some(50.0),
            parent_lock: Some("lock".into()),
            ..plan(number, library("openmpi"), Path::new("spool"), *tasks)
        };
        store
            .record_campaign(&plan.campaign, "a", "name: a")
            .expect("stored");
        store.begin_launch(&plan).expect("begun");
        store.ingest_record(&plan, &started(&plan)).expect("stored");
        for task in 1..=*tasks {
            let record = done(task, &[vec![1e-6]]);
            assert!(store.ingest_record(&plan, &record).expect("stored"));
        }
        if let Some(outcome) = outcome {
            store.end_launch(number, outcome).expect("ended");
        }
        clock
            .execute(
                "UPDATE launch SET started = coalesce(ended, started) - ?2 WHERE number = ?1",
                params![number, wall_seconds],
            )
            .expect("turned back");
    }
    store
}

#[test]
fn a_launch_costs_its_tasks_or_the_time_it_took() {
    let interrupted = || Some(LaunchOutcome::Interrupted);
    let cases: [(&str, &[Launched], f64); 9] = [
        ("nothing", &[], 0.0),
        (
            "tasks, within the resolution of the clock",
            &[(complete(), 0, 8)],
            2.0,
        ),
        ("a hung turn", &[(died(), 30, 8)], 30.0),
        (
            "several campaigns",
            &[(complete(), 10, 8), (died(), 12, 0)],
            22.0,
        ),
        (
            "sums are compared, not launches",
            &[(complete(), 1, 8), (complete(), 4, 8)],
            5.0,
        ),
        ("under way since yesterday", &[(None, 86400, 8)], 2.0),
        (
            "found by the next run",
            &[(interrupted(), 86400, 8), (complete(), 5, 4)],
            7.0,
        ),
        (
            "a clock that was set",
            &[(complete(), -3600, 8), (complete(), 86400, 0)],
            80.0,
        ),
        ("both", &[(complete(), 1, 8), (complete(), 1, 8)], 4.0),
    ];
    let folder = tempfile::tempdir().expect("temporary folder");
    for (number, (name, launches, expected)) in cases.into_iter().enumerate() {
        let path: PathBuf = folder.path().join(format!("{number}.db"));
        let store = store_with(&path, launches);
        let cost = |library_name| {
            store
                .spent_seconds(&library(library_name), None)
                .expect("readable")
        };
        assert_eq!(cost("openmpi"), expected, "{name}");
        assert_eq!(cost("mpich"), 0.0, "{name}");
    }
}

/// A launch that waited in a queue has no lock, and the time at which it began to run is unknown.
#[test]
fn waiting_in_a_queue_costs_nothing() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut store = store_with(&folder.path().join("a.db"), &[]);
    let plan = plan(1, library("openmpi"), Path::new("spool"), 2);
    assert_eq!(plan.parent_lock, None);
    store
        .record_campaign(&plan.campaign, "a", "name: a")
        .expect("stored");
    store.begin_launch(&plan).expect("begun");
    for task in 1..=2 {
        let record = done(task, &[vec![1e-6]]);
        assert!(store.ingest_record(&plan, &record).expect("stored"));
    }
    store
        .end_launch(1, &Finish::Complete.into())
        .expect("ended");
    let clock = Connection::open(store.path()).expect("opened");
    clock
        .execute("UPDATE launch SET started = ended - 40", [])
        .expect("turned back");
    let spent = store
        .spent_seconds(&library("openmpi"), None)
        .expect("readable");
    assert_eq!(spent, 0.5);
}

/// As if the ranks had not found each other: the next launch has the whole budget.
#[test]
fn a_launch_that_did_not_start_costs_nothing() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut store = store_with(&folder.path().join("a.db"), &[(complete(), 20, 8)]);
    let plan = Plan {
        campaign: "digest 1".to_owned(),
        parent_lock: Some("lock".into()),
        ..plan(2, library("openmpi"), Path::new("spool"), 1)
    };
    store.begin_launch(&plan).expect("begun");
    let died = died().expect("an outcome");
    store.end_launch(2, &died).expect("ended");
    let clock = Connection::open(store.path()).expect("opened");
    let back = "UPDATE launch SET started = ended - 40 WHERE number = 2";
    clock.execute(back, []).expect("turned back");
    let spent = store.spent_seconds(&library("openmpi"), None);
    assert_eq!(spent.expect("readable"), 20.0);
}
