//! Real campaigns in which processes are killed at random moments.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use campaign::Campaign;
use fastrand::Rng;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rusqlite::Connection;
use store::Store;
use vocabulary::{Candidate, Library, Pattern, Sample, Subject};
use wire::{FailureKind, FailureRecord, Record};

use crate::mpi::{place_with, processes, run, start, wait};
use crate::run::{Place, sound_store};

/// The number of kills under Open MPI; under MPICH it is half of that.
fn kills() -> u32 {
    if testkit::is_long() { 16 } else { 4 }
}

const LAUNCHES: u32 = 5;

/// 8 cells, over a second for each launch on any machine, since every candidate uses all of its time.
const CAMPAIGN: &str = "
collectives: [bcast, allreduce, allgather, reduce]
shapes: [1x2]
sizes: [16K, 256K]
candidates: {include: ['*/binomial', '*/ring', '*/chain']}
parameters: {block_bytes: 4K, predicted: false}
repetitions: {minimum: 10, maximum: 20000, precision: 1.0e-6, slice: 40ms, racing: false}
strategy: exhaustive
confirmation: off
launches: 5
";

/// The time in which ranks end after the command that waits for them has ended.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Colltune,
    Launcher,
    Rank,
}

/// The kind of process to kill, and the effects so far.
#[derive(Default)]
struct Tally {
    /// The number of kills of each kind of process while it was working.
    hits: BTreeMap<Victim, u32>,
    /// The number of ranks killed by SIGKILL, which looks like a crash.
    crashes: usize,
}

/// Kills one process of a running campaign and, if that was not colltune itself, colltune somewhat later; no process
/// remains.
fn kill_one_process(place: &Place, launcher: &str, random: &mut Rng, tally: &mut Tally) {
    let child = start(place, &["tune", "campaign.yaml"]);
    thread::sleep(Duration::from_millis(random.u64(100..2000)));
    let colltune = Pid::from_raw(child.id() as i32);
    let signals = [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGINT];
    let signal = signals[random.usize(..signals.len())];
    let victims = [Victim::Colltune, Victim::Launcher, Victim::Rank];
    let victim = victims[random.usize(..victims.len())];
    let candidates = match victim {
        Victim::Colltune => vec![colltune],
        Victim::Launcher => processes(place, launcher),
        Victim::Rank => processes(place, "/colltune-driver"),
    };
    if let Some(pid) = random.choice(&candidates) {
        eprintln!("{signal} to {victim:?}");
        if kill(*pid, signal).is_ok() {
            *tally.hits.entry(victim).or_default() += 1;
            tally.crashes += usize::from(victim == Victim::Rank && signal == Signal::SIGKILL);
        }
    }
    if victim != Victim::Colltune {
        thread::sleep(Duration::from_millis(random.u64(300..1000)));
        // It may have ended by itself, which is no error.
        let _ = kill(colltune, signals[random.usize(..signals.len())]);
    }
    end(place, child);
}

/// Waits for colltune to end; its descendants must end soon after.
fn end(place: &Place, child: Child) {
    let pid = child.id();
    let ran = wait(place, child);
    // The exit code is 3 if the launcher dies before any rank has reported.
    assert!(
        matches!(ran.code, None | Some(0 | 3 | 130)),
        "{pid}: {ran:?}"
    );
    let begun = Instant::now();
    loop {
        let left = processes(place, "");
        if left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < GRACE, "{left:?} are left");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The content of a store.
#[derive(Default)]
struct Held {
    samples: Vec<Sample>,
    /// Launch and number.
    tasks: BTreeSet<(u32, u32)>,
}

/// Asserts that the store is intact, still has its earlier rows, and has no measurement more often than requested.
fn check_store(place: &Place, before: &Held) -> Held {
    let path = place.path(".colltune/real.db");
    let Some((store, library)) = sound_store(&path) else {
        return Held::default();
    };
    let raw = Connection::open(&path).unwrap();
    let mut rows = raw.prepare("SELECT launch, number FROM task").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let held = Held {
        samples: store.samples(&library, Pattern::Together).unwrap(),
        tasks: rows.unwrap().collect::<Result<_, _>>().unwrap(),
    };
    for sample in &before.samples {
        let name = format!("{} in {}", sample.candidate, sample.subject);
        let is_there = held.samples.contains(sample);
        assert!(is_there, "{name} of launch {} is lost", sample.launch);
    }
    assert!(held.tasks.is_superset(&before.tasks));
    let mut launches: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
    for sample in &held.samples {
        let name = format!("{} in {}", sample.candidate, sample.subject);
        let known = launches.entry(name.clone()).or_default();
        let is_new = known.insert(sample.launch);
        assert!(is_new, "{name} twice in launch {}", sample.launch);
    }
    for (name, numbers) in launches {
        assert!(numbers.len() <= LAUNCHES as usize, "{name}: {numbers:?}");
    }
    held
}

/// Asserts that every task that a driver recorded as done is stored, and that no launch lost more than one.
fn check_spools(place: &Place, held: &Held) {
    for entry in std::fs::read_dir(place.path(".colltune/real.db.launches")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "spool") {
            continue;
        }
        let launch: u32 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let (mut begun, mut done) = (BTreeSet::new(), BTreeSet::new());
        // The last line may be incomplete.
        for line in text.split_inclusive('\n').filter(|l| l.ends_with('\n')) {
            match serde_json::from_str(line).unwrap() {
                Record::Trying { task, .. } => _ = begun.insert((launch, task)),
                Record::Done(task) => _ = done.insert((launch, task.task)),
                _ => {}
            }
        }
        assert!(held.tasks.is_superset(&done), "launch {launch}: {done:?}");
        let lost: Vec<_> = begun.difference(&held.tasks).collect();
        assert!(lost.len() <= 1, "launch {launch} lost {lost:?}");
    }
}

/// The number of measurements that the campaign asks for.
fn planned(place: &Place) -> BTreeSet<(Subject, Candidate)> {
    let campaign = Campaign::load(&place.path("campaign.yaml")).unwrap();
    let experiments = campaign.experiments().into_iter();
    let experiments = experiments.map(|e| (Subject::Experiment(e), Candidate::Default));
    let cells = campaign.cells().into_iter().flat_map(|cell| {
        let candidates = campaign.candidates(&cell, &|_| None).distinct;
        candidates
            .into_iter()
            .map(move |c| (Subject::Cell(cell), c))
    });
    experiments.chain(cells).collect()
}

/// Kills processes repeatedly; then the campaign completes, and the store has all measurements.
fn check(library_name: &str, launcher: &str, kills: u32) {
    let Some(place) = place_with(library_name, CAMPAIGN) else {
        return;
    };
    let seed = std::env::var("COLLTUNE_TEST_SEED")
        .map_or_else(|_| fastrand::u64(..), |text| text.parse().unwrap());
    eprintln!("{library_name}: COLLTUNE_TEST_SEED={seed}");
    let mut random = Rng::with_seed(seed);
    let (mut tally, mut held) = (Tally::default(), Held::default());
    for _ in 0..kills {
        kill_one_process(&place, launcher, &mut random, &mut tally);
        held = check_store(&place, &held);
        if place.path("tables/real.yaml").exists() {
            break;
        }
    }
    // Otherwise the kills would not have hit working processes.
    assert!(
        tally.hits.values().sum::<u32>() >= kills / 2,
        "{:?}",
        tally.hits
    );

    let ran = run(&place, &["tune", "campaign.yaml", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let outcome = ran.json();
    assert_eq!(outcome["done"], outcome["total"], "{}", ran.err);
    let held = check_store(&place, &held);
    check_spools(&place, &held);

    let library: Library = serde_json::from_value(outcome["library"].clone()).unwrap();
    let store = Store::open(&place.path(".colltune/real.db")).unwrap();
    let failures = store.failures(&library).unwrap();
    // Only the death of a rank as in a crash is attributed to the candidate that was running.
    let told = failures
        .iter()
        .map(|f| format!("{}: {}", f.kind.name(), f.message));
    let told: Vec<_> = told.collect();
    assert!(failures.len() <= tally.crashes, "{told:#?}");
    let is_crash = |failure: &FailureRecord| failure.kind == FailureKind::Crash;
    assert!(failures.iter().all(is_crash), "{told:#?}");
    let counts = store.launch_counts(&library, Pattern::Together).unwrap();
    for (subject, candidate) in planned(&place) {
        let is = |f: &FailureRecord| {
            f.subject == subject && [&candidate, &Candidate::Default].contains(&&f.candidate)
        };
        let launches = counts.get(&(subject, candidate.clone())).copied();
        assert!(
            launches == Some(LAUNCHES) || failures.iter().any(is),
            "{candidate} in {subject}: {launches:?} launches"
        );
    }
    let planned = planned(&place);
    assert!(counts.keys().all(|measured| planned.contains(measured)));
    eprintln!("{:?}, {} failures", tally.hits, failures.len());
}

#[test]
fn killing_any_process_at_any_moment_under_openmpi_loses_at_most_the_running_cell() {
    check("openmpi", "mpirun", kills());
}

#[test]
fn killing_any_process_at_any_moment_under_mpich_loses_at_most_the_running_cell() {
    check("mpich", "mpiexec", kills() / 2);
}
