//! A service that is killed at random moments, or its child processes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fastrand::Rng;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use service::{Slice, TaskFilter, TaskState};
use vocabulary::Pattern;

use super::process::{open, start};
use crate::run::{Place, sound_store};

/// A small campaign in which the default is not the best.
const CAMPAIGN: &str = "\
name: NAME
launcher: {simulated: {machine: fat-tree.yaml, seed: 7}}
shapes: [4x4]
collectives: [bcast]
sizes: [64, 2056]
candidates: {include: ['*/binomial', '*/knomial', '*/chain']}
parameters: {block_bytes: 4K, predicted: false, radix: 4}
strategy: exhaustive
launches: 2
confirmation: off
repetitions: {slice: 20ms}
budget: 10h
";

/// Seeds in CI; `COLLTUNE_KILL_SEEDS` asks for others.
const SEEDS: u64 = 20;

fn place() -> Place {
    let place = Place::new();
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines");
    let machine = fs::read_to_string(machines.join("fat-tree.yaml")).unwrap();
    place.write("fat-tree.yaml", machine);
    for name in ["a", "b"] {
        let text = CAMPAIGN.replace("NAME", name);
        place.write(&format!("tuning/{name}.yaml"), text);
    }
    place
}

/// Waits until all tasks of an undisturbed service have ended.
#[track_caller]
fn finish(mut child: Child) -> Duration {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return begun.elapsed();
        }
        if begun.elapsed() > Duration::from_secs(100) {
            let _ = child.kill();
            panic!("tasks do not end");
        }
        sleep(Duration::from_millis(10));
    }
}

/// Processes of `colltune` in a folder.
fn children(place: &Place) -> Vec<Pid> {
    let folder = fs::canonicalize(place.path("")).unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let is_ours = |path: &Path| {
        let link = |name| fs::read_link(path.join(name)).unwrap_or_default();
        link("cwd") == folder && link("exe") == Path::new(env!("CARGO_BIN_EXE_colltune"))
    };
    let ours = entries.filter(|entry| is_ours(&entry.path()));
    let pids = ours.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.map(Pid::from_raw).collect()
}

/// The result of each task: its state, the task that it takes its result from, and the table.
#[derive(Debug, PartialEq)]
struct Results {
    tasks: Vec<(u64, TaskState, Option<String>)>,
    versions: BTreeSet<String>,
    validations: usize,
}

fn results(place: &Place) -> Results {
    let service = open(place);
    let tasks = service
        .list_tasks(&TaskFilter::default(), Slice::default())
        .unwrap();
    let of_task = |task: service::Task| {
        assert!(task.attempts > 0 || task.follows.is_some(), "{task:?}");
        (task.id, task.state, task.made.map(|made| made.to_string()))
    };
    let tasks: Vec<_> = tasks.items.into_iter().map(of_task).collect();
    let versions = service
        .list_versions(None, None, Slice::default())
        .unwrap()
        .items;
    let digests: BTreeSet<String> = versions
        .iter()
        .map(|version| version.digest.to_string())
        .collect();
    assert_eq!(digests.len(), versions.len(), "a table was taken in twice");
    let (_, _, validated) = tasks.last().unwrap();
    let validated = validated.as_ref().unwrap().parse().unwrap();
    let validations = service.list_validations("local", &validated).unwrap();
    for version in &versions {
        service.read_table(&version.digest).unwrap();
    }
    Results {
        tasks,
        versions: digests,
        validations: validations.len(),
    }
}

/// Asserts that nothing is stored twice, whatever was killed.
fn check_stores(place: &Place) {
    for entry in fs::read_dir(place.path(".colltune")).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "db") {
            continue;
        }
        let (store, library) = sound_store(&path).unwrap();
        let mut seen = BTreeSet::new();
        for sample in store.samples(&library, Pattern::Together).unwrap() {
            let name = format!("{} {} {}", sample.launch, sample.subject, sample.candidate);
            assert!(
                seen.insert(name.clone()),
                "{name} twice in {}",
                path.display()
            );
        }
    }
}

/// Kills the service, or a child and then the service, several times; then waits for its end.
fn disturb(seed: u64, whole: Duration) -> Place {
    let mut random = Rng::with_seed(seed);
    let place = place();
    for _ in 0..random.u32(1..5) {
        let mut service = start(&place);
        let moment = |rng: &mut Rng| sleep(whole.mul_f64(rng.f64() * 0.6));
        moment(&mut random);
        if random.bool() {
            let children = children(&place);
            if let Some(pid) = random.choice(&children) {
                // It may have ended.
                let _ = kill(*pid, Signal::SIGKILL);
            }
            moment(&mut random);
        }
        let _ = service.kill();
        service.wait().unwrap();
        // Sometimes the next service starts while processes of this one still run.
        if random.bool() {
            let begun = Instant::now();
            while !children(&place).is_empty() {
                assert!(begun.elapsed() < Duration::from_secs(20), "a child is left");
                sleep(Duration::from_millis(10));
            }
        }
    }
    finish(start(&place));
    place
}

#[test]
fn a_service_that_is_killed_at_any_moment_loses_nothing_and_does_nothing_twice() {
    let undisturbed = place();
    let whole = finish(start(&undisturbed));
    let expected = results(&undisturbed);
    assert_eq!(expected.tasks.len(), 5);
    assert!(
        expected
            .tasks
            .iter()
            .all(|(_, state, _)| *state == TaskState::Done),
        "{expected:?}"
    );
    assert_eq!((expected.versions.len(), expected.validations), (3, 1));
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("COLLTUNE_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    let seeds = number("COLLTUNE_KILL_SEEDS").unwrap_or(SEEDS);
    let (next, end) = (AtomicU64::new(first), first + seeds);
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    eprintln!("COLLTUNE_SEED={seed}");
                    let place = disturb(seed, whole);
                    assert_eq!(results(&place), expected, "seed {seed}");
                    check_stores(&place);
                }
            });
        }
    });
}
