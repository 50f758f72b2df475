//! Programs that watch a command measure.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::kill;
use serde_json::Value;

use crate::interrupt::{SLEEPER, wait_for_pids};
use crate::made;
use crate::run::Place;

/// Takes some seconds; an interrupted run, continued, gives the same table.
const CAMPAIGN: &str = "\
name: small
launcher: {simulated: {machine: fat-tree.yaml, seed: 7}}
shapes: [2x2, 4x4]
collectives: [allreduce, bcast]
sizes: [64, 2056, 64K]
strategy: exhaustive
confirmation: off
repetitions: {slice: 20ms}
budget: 10h
";

fn place() -> Place {
    let place = Place::new();
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines");
    let machine = std::fs::read_to_string(machines.join("fat-tree.yaml")).unwrap();
    place.write("fat-tree.yaml", machine);
    place.write("campaign.yaml", CAMPAIGN);
    place
}

/// The events of a run, and the outcome in its last line.
#[track_caller]
fn watched(place: &Place, args: &[&str]) -> (Vec<Value>, Value) {
    let ran = place.run(args);
    // The verb may find that a rule is slower, and exit with 1.
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    let lines = ran.out.lines();
    let mut events: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut last = events.pop().unwrap();
    assert_eq!(last["event"], "outcome", "{last}");
    assert!(events.iter().all(|event| event["event"].is_string()));
    (events, last["outcome"].take())
}

#[test]
fn each_event_is_a_line_and_the_outcome_is_the_last() {
    let place = place();
    let (events, outcome) = watched(&place, &["tune", "campaign.yaml", "--events"]);
    let of = |kind: &str| events.iter().filter(|event| event["event"] == kind).count();
    assert_eq!(of("launch") as u64, outcome["launches"].as_u64().unwrap());
    let done = events.iter().filter(|event| event["event"] == "stored");
    let done: Vec<_> = done
        .map(|event| event["progress"]["done"].as_u64())
        .collect();
    assert!(done.is_sorted() && done.last() == Some(&outcome["done"].as_u64()));
    let json = place.run(&["tune", "campaign.yaml", "--json"]).json();
    for key in [
        "name", "library", "store", "table", "report", "done", "total",
    ] {
        assert_eq!(outcome[key], json[key], "{key}");
    }

    let table = "tables/small.yaml";
    let (validating, validated) = watched(&place, &["validate", table, "--events", "--seed", "1"]);
    assert!(!validating.is_empty());
    let as_json = place
        .run(&["validate", table, "--json", "--seed", "1"])
        .json();
    assert_eq!(validated["points"], as_json["points"]);
    let (_, checked) = watched(&place, &["check", table, "--events"]);
    assert!(checked["holds"].is_boolean());
    let both = place.run(&["tune", "campaign.yaml", "--events", "--json"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn a_command_ends_like_an_interrupted_one_when_its_reader_goes_away() {
    let place = place();
    let mut child = place
        .command(&["tune", "campaign.yaml", "--events"])
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("stored") {
        line.clear();
        out.read_line(&mut line).unwrap();
    }
    drop(out);
    let begun = Instant::now();
    let status = child.wait().unwrap();
    let mut err = String::new();
    child.stderr.unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(status.code(), Some(130), "{err}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{err}");
    let (_, outcome) = watched(&place, &["tune", "campaign.yaml", "--events"]);
    assert_eq!(outcome["done"], outcome["total"]);
}

#[test]
fn a_command_also_ends_while_it_has_nothing_to_print() {
    let place = Place::with_mpirun(SLEEPER);
    place.write("campaign.yaml", made::CAMPAIGN);
    let mut child = place
        .command(&["tune", "campaign.yaml", "--events"])
        .spawn()
        .unwrap();
    let pids = wait_for_pids(&place);
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    for pid in pids {
        assert_eq!(kill(pid, None), Err(Errno::ESRCH), "{pid} survives");
    }
}
