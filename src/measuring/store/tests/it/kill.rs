//! A process that ingests is killed again and again: nothing stored is lost, doubled or damaged.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use store::{LaunchOutcome, Lock, SpoolReader, Store};
use vocabulary::Pattern;
use wire::Record;

use crate::fixture::{library, plan, times, write_spool};
use crate::lock::{CHILD, start_child};

const CELLS: u32 = 1500;
const REPETITIONS: u32 = 50;

/// Finishes the launch that an earlier process left, as `tune` does at its start; prints the stored tasks.
#[test]
#[ignore = "a child process of the test below"]
fn ingester() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let path = Path::new(&path);
    let _lock = Lock::acquire(path).expect("free");
    let mut store = Store::open_or_create(path).expect("opened");
    if store.next_launch().expect("readable") == 1 {
        let plan = plan(1, library("openmpi"), &path.with_extension("jsonl"), CELLS);
        store
            .record_campaign("digest", "a", "name: a")
            .expect("stored");
        store.begin_launch(&plan).expect("begun");
    }
    println!();
    for plan in store.unfinished_launches().expect("readable") {
        let mut spool = SpoolReader::new(&plan.spool);
        while let Some(record) = spool.next_record().expect("readable") {
            if store.ingest_record(&plan, &record).expect("stored")
                && let Record::Done(done) = record
            {
                println!("stored {}", done.task);
            }
        }
        store
            .end_launch(plan.launch, &LaunchOutcome::Interrupted)
            .expect("ended");
    }
}

/// Starts an ingester, kills it `micros` microseconds after it has stored `until` tasks, and returns the tasks that it
/// printed as stored.
fn ingest_and_kill(path: &Path, until: usize, micros: u64) -> Vec<u32> {
    let mut child = start_child("kill::ingester", path);
    let output = BufReader::new(child.stdout.take().expect("piped"));
    let mut stored = Vec::new();
    for line in output.lines() {
        let line = line.expect("text");
        if let Some(task) = line.strip_prefix("stored ") {
            stored.push(task.parse().expect("a number"));
        }
        if stored.len() == until {
            std::thread::sleep(Duration::from_micros(micros));
            // It may have ended by itself, which is no error.
            let _ = child.kill();
        }
    }
    child.wait().expect("ended");
    stored
}

/// The stored tasks; checks all invariants.
fn check_store(path: &Path) -> Vec<u32> {
    let raw = Connection::open(path).expect("opened");
    let verdict: String = raw
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("checked");
    assert_eq!(verdict, "ok");
    let orphans: u32 = raw
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| {
            row.get(0)
        })
        .expect("checked");
    assert_eq!(orphans, 0);
    let torn: u32 = raw
        .query_row(
            "SELECT count(*) FROM task WHERE min(number, 1) + 1 !=
                (SELECT count(*) FROM sample WHERE launch = task.launch AND task = number)",
            [],
            |row| row.get(0),
        )
        .expect("checked");
    assert_eq!(
        torn, 0,
        "tasks are stored whole: one sample for the experiment, two a cell"
    );
    let mut select = raw
        .prepare("SELECT number FROM task ORDER BY number")
        .expect("prepared");
    let numbers = select.query_map([], |row| row.get(0)).expect("selected");
    numbers.collect::<Result<_, _>>().expect("read")
}

#[test]
fn killed_at_random_moments_it_loses_nothing_that_was_stored() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("a.db");
    let complete = plan(1, library("openmpi"), &path.with_extension("jsonl"), CELLS);
    write_spool(&complete, REPETITIONS);

    let mut claimed = Vec::new();
    let mut interrupted = 0;
    // A linear congruential generator, for different moments that are the same in every run.
    let mut random = 12345_u64;
    for _ in 0..8 {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let (until, micros) = (1 + (random >> 33) % 120, (random >> 20) % 3000);
        claimed.extend(ingest_and_kill(
            &path,
            usize::try_from(until).expect("small"),
            micros,
        ));
        let stored = check_store(&path);
        assert!(
            claimed.iter().all(|task| stored.contains(task)),
            "a stored task was lost"
        );
        interrupted += u32::from(stored.len() < complete.tasks.len());
    }
    assert!(
        interrupted >= 4,
        "killed in the middle only {interrupted} times: make it longer"
    );

    claimed.extend(ingest_and_kill(&path, usize::MAX, 0));
    let all: Vec<u32> = (0..=CELLS).collect();
    assert_eq!(check_store(&path), all);
    claimed.sort_unstable();
    assert!(
        claimed.windows(2).all(|pair| pair[0] != pair[1]),
        "a task was stored twice"
    );

    let store = Store::open(&path).expect("opened");
    assert!(store.unfinished_launches().expect("readable").is_empty());
    let samples = store
        .samples(&library("openmpi"), Pattern::Together)
        .expect("readable");
    assert_eq!(samples.len(), 2 * all.len() - 1);
    for (pair, task) in samples[..samples.len() - 1].chunks(2).zip(1..) {
        for (sample, candidate) in pair.iter().zip(0..) {
            assert_eq!(sample.seconds, times(task, candidate, REPETITIONS));
        }
    }
}
