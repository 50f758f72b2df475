//! `validate` and `check` on real MPI, with exported files and with forced algorithms.

use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use launcher::{LibraryChoice, LibraryName, discover_libraries, select_installation};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use schedule::Collective;
use serde_json::Value;
use table::{Confidence, Deployments, Rule, Table};
use vocabulary::{Candidate, Parameters};

use crate::mpi::{assert_no_process_left, command, place_with, run, wait};
use crate::run::{Place, Ran};

/// Measures the library's own algorithms in a few seconds.
pub(crate) const CAMPAIGN: &str = "
candidates: {include: 'native:*'}
shapes: [1x2]
sizes: [64, 1M]
parameters: {block_bytes: [16K]}
strategy: exhaustive
confirmation: off
repetitions: {minimum: 10, maximum: 100, slice: 10ms}
launches: 2
watchdog: 5s
";

pub(crate) const TABLE: &str = "tables/real.yaml";

/// A place with a table of a collective that has these rules for every deployment.
fn place(library: &str, collective: Collective, rules: Vec<Rule>) -> Option<Place> {
    let campaign = format!("collectives: {collective}\n{CAMPAIGN}");
    let place = place_with(library, &campaign)?;
    let tuned = run(&place, &["tune", "campaign.yaml"]);
    assert_eq!(tuned.code, Some(0), "{tuned:?}");
    set_rules(&place, collective, rules);
    Some(place)
}

/// Replaces the table's rules for a collective by these, for every deployment.
pub(crate) fn set_rules(place: &Place, collective: Collective, rules: Vec<Rule>) -> Table {
    let path = place.path(TABLE);
    let mut table = Table::load(&path).unwrap();
    let entries = table.collectives.get_mut(&collective).unwrap();
    entries.truncate(1);
    entries[0].deployments = Deployments::Any;
    entries[0].rules = rules;
    table.save(&path).unwrap();
    table
}

/// A confirmed rule for one of the library's own algorithms.
pub(crate) fn native(from_bytes: u64, name: &str, segment_bytes: Option<u64>) -> Rule {
    let candidate = Candidate::Native {
        algorithm: format!("native:{name}"),
        parameters: Parameters {
            segment_bytes,
            ..Parameters::default()
        },
    };
    Rule {
        confirmed: true,
        ..Rule::new(from_bytes, candidate, Some(2.0), Confidence::High)
    }
}

#[test]
fn an_exported_table_is_validated_and_repaired_under_openmpi() {
    // A pipeline with such short segments is slow for long messages.
    let rules = vec![
        Rule::new(0, Candidate::Default, None, Confidence::High),
        native(1000, "bcast/pipeline", Some(256)),
    ];
    let Some(place) = place("openmpi", Collective::Bcast, rules) else {
        return;
    };
    let check = [
        "check",
        TABLE,
        "--deployment",
        "library",
        "--tolerance",
        "99",
        "--probes",
        "0",
    ];
    let strict = [&check[..], &["--materiality", "0.2"]].concat();
    let checked = run(&place, &strict);
    // Beside other work, which `check` warns of, it decides nothing.
    let expected = if checked.err.contains("machine was busy") {
        3
    } else {
        1
    };
    assert_eq!(checked.code, Some(expected), "{checked:?}");
    let slower = "pipeline[segment_bytes=256] takes";
    assert!(checked.out.contains(slower), "{}", checked.out);

    let validate = [
        "validate",
        TABLE,
        "--deployment",
        "library",
        "--launches",
        "4",
        "--probes",
        "2",
    ];
    let export = "tables/real.openmpi.conf";
    place.write(export, "of the table before");
    let repaired = run(&place, &[&validate[..], &["--repair", "--json"]].concat());
    assert_eq!(repaired.code, Some(0), "{repaired:?}");
    let found = repaired.json();
    // The export was written again, also if the table has nothing left to export.
    assert_ne!(place.read(export), "of the table before");
    assert!(found["export"].is_string(), "{repaired:?}");
    assert_eq!(found["via"], "export");
    let points = found["points"].as_array().unwrap();
    let long = points.iter().find(|point| point["bytes"] == 1 << 20);
    let long = long.unwrap();
    assert_eq!(long["judgement"], "slower", "{found}");
    assert!(long["speedup"].as_f64().unwrap() < 0.8, "{found}");
    let table = Table::load(&place.path(TABLE)).unwrap();
    let last = table.collectives[&Collective::Bcast][0].rules.last();
    assert_eq!(last.unwrap().candidate, Candidate::Default);
    let lenient = [&check[..], &["--materiality", "5"]].concat();
    let checked_leniently = run(&place, &lenient);
    assert_eq!(checked_leniently.code, Some(0), "{checked_leniently:?}");
    assert_no_process_left(&place);
}

#[test]
fn an_exported_table_is_in_place_under_mpich() {
    // MPICH's default first chooses a composition, which doubles the time of 64 bytes.
    let rules = vec![native(0, "allreduce/recursive_doubling", None)];
    let Some(place) = place("mpich", Collective::Allreduce, rules) else {
        return;
    };
    let validate = [
        "validate",
        TABLE,
        "--deployment",
        "library",
        "--probes",
        "0",
        "--json",
    ];
    let mut seen = Vec::new();
    let mut agree = || {
        let mut speedups = ["export", "force"].map(|via| {
            let ran = run(&place, &[&validate[..], &["--via", via]].concat());
            let found = ran.json();
            assert_eq!(found["via"], via);
            let points = found["points"].as_array().unwrap();
            let short = points.iter().find(|point| point["bytes"] == 64);
            let short = short.unwrap_or_else(|| panic!("{found}"));
            short["speedup"].as_f64().expect("times of both")
        });
        speedups.sort_by(f64::total_cmp);
        seen.push(speedups);
        speedups[0] > 1.15 && speedups[1] < 1.6 * speedups[0]
    };
    // Launches differ, so fresh ones must confirm the result.
    let is_in_place = (0..3).any(|_| agree());
    assert!(is_in_place, "{seen:?}");
    assert_no_process_left(&place);
}

/// Runs the binary in a process group of its own. If it takes too long, the group is asked to end, and killed if it
/// does not.
fn run_in_time(place: &Place, args: &[&str]) -> Ran {
    const LONGEST: Duration = Duration::from_secs(60);
    const GRACE: Duration = Duration::from_secs(5);
    let mut child = command(place, args).process_group(0).spawn().unwrap();
    let group = Pid::from_raw(child.id().cast_signed());
    let mut ends_within = |time| {
        let end = Instant::now() + time;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    };
    if !ends_within(LONGEST) {
        killpg(group, Signal::SIGTERM).unwrap();
        if !ends_within(GRACE) {
            killpg(group, Signal::SIGKILL).unwrap();
        }
        panic!("{args:?} took too long: {:?}", wait(place, child));
    }
    wait(place, child)
}

/// The slower rule, a pipeline with segments of 64 bytes, applies to no measured size.
#[test]
fn a_probe_finds_a_rule_that_is_slower_between_measured_sizes_under_openmpi() {
    let Some(place) = place_with("openmpi", "") else {
        return;
    };
    let choice = LibraryChoice {
        name: Some(LibraryName::OpenMpi),
        ..LibraryChoice::default()
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = select_installation(&choice, &discover_libraries(&path)).unwrap();
    let collectives = "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: commutative
        rules:
          - {from: 0, candidate: default, confidence: high}
          - {from: 3000, candidate: allreduce/pipelined_tree, block_bytes: 64, speedup: 1.2, confidence: low}
          - {from: 8000, candidate: default, confidence: high}
        measured:
          bytes:                [2K,  8K]
          microseconds:         [1,   3]
          default_microseconds: [1,   3]
";
    place.write(
        TABLE,
        testkit::tables::table_yaml("absent", "openmpi", &installed.version, collectives),
    );
    let args = [
        "validate",
        TABLE,
        "--launches",
        "4",
        "--budget",
        "40s",
        "--json",
    ];
    let mut seen = Vec::new();
    let mut is_found = || {
        let ran = run_in_time(&place, &args);
        assert!([Some(0), Some(1)].contains(&ran.code), "{ran:?}");
        let found = ran.json();
        let points = found["points"].as_array().unwrap();
        let is_it = |point: &Value| {
            point["place"] == "probe"
                && point["judgement"] == "slower"
                && (3000..8000).contains(&point["bytes"].as_u64().unwrap())
        };
        let is_found = points.iter().any(is_it);
        assert!(!is_found || ran.code == Some(1), "{ran:?}");
        seen.push(found);
        is_found
    };
    // Launches differ, so fresh ones must confirm the result.
    let is_found = (0..3).any(|_| is_found());
    assert!(is_found, "{seen:#?}");
    assert_no_process_left(&place);
}
