//! `colltune gain`: what a table would save recorded programs.

use schedule::Collective;
use serde_json::Value;
use statistics::{Interval, PairedRatio};
use table::{Deployment, Found, OperatorClass, Verdict};
use testkit::tables::{parse_table, table_yaml};
use vocabulary::{CommShape, Distribution, Pattern, RankOrder};

use crate::run::Place;

/// A call of a profile.
fn recorded_call(collective: &str, communicator: &str, bytes: u64, sampled: &str) -> String {
    format!(
        r#"{{"call":{{"collective":"{collective}","form":"blocking","communicator":{communicator},"bytes":{bytes},"datatype":"float64","operator":"sum","in_place":false,"root":null}},"cost":{{"calls":10,"seconds":8.0,"longest_seconds":1.0,"bytes":{},{sampled}}}}}"#,
        bytes * 10
    )
}

const SHAPE: &str = r#"{"ranks":2,"nodes":1,"ppn":2,"order":"block","made_by":"predefined"}"#;
const OTHER_SHAPE: &str = r#"{"ranks":4,"nodes":2,"ppn":2,"order":"block","made_by":"predefined"}"#;
/// Half of the time is waiting.
const WAITING: &str = r#""sampled_calls":4,"sampled_seconds":2.0,"waiting_seconds":1.0"#;
const NO_SAMPLES: &str = r#""sampled_calls":0,"sampled_seconds":0.0,"waiting_seconds":0.0"#;

fn profile_of(library: &str, calls: &[String]) -> String {
    format!(
        r#"{{
"format": "colltune-profile",
"version": 1,
"jobs": [
{{"id":"5f0c3a9b12de4477","job":{{"program":"solver","library":"{library}","started":1795319889,"ranks":4,"all_ranks":4,"nodes":2,"seconds":12.5,"rank_seconds":50.0,"arrivals":"all_ranks"}}}}
],
"calls": [
{}
]
}}
"#,
        calls.join(",\n")
    )
}

/// A table whose confirmed rule for colltune makes calls twice as fast, measured from 64 to 4096 bytes.
fn table_text() -> String {
    table_yaml(
        "saving",
        "openmpi",
        "4.1.4",
        "\x20 allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: any
        deployment: colltune
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, speedup: 2, confidence: high, confirmed: true}
        measured:
          bytes:                [64, 4K]
          microseconds:         [5, 50]
          default_microseconds: [10, 100]
",
    )
}

fn place_of_calls(calls: &[String]) -> Place {
    let place = Place::new();
    place.write("table.yaml", table_text());
    place.write("profile.json", profile_of("openmpi-4.1.4", calls));
    place
}

const GAIN: &str = "gain table.yaml --profile profile.json --json";

#[track_caller]
fn uncovered_seconds(deployment: &Value) -> Vec<(f64, String)> {
    let left = deployment["not_covered"].as_array().unwrap();
    left.iter()
        .map(|left| {
            let reason = left["reason"].as_str().unwrap().to_owned();
            (left["seconds"].as_f64().unwrap(), reason)
        })
        .collect()
}

#[test]
fn half_of_the_time_besides_waiting_is_saved_by_a_speedup_of_two() {
    let place = place_of_calls(&[recorded_call("allreduce", SHAPE, 64, WAITING)]);
    let output = place.run_line(GAIN).good().json();
    assert_eq!(output["seconds"], 8.0);
    assert_eq!(output["waiting_seconds"], 4.0);
    let colltune = &output["deployments"][0];
    let saving = &colltune["calls"][0];
    assert_eq!(saving["saved_seconds"], 2.0, "{output}");
    assert_eq!(saving["candidate"], "allreduce/recursive_doubling");
    // The store is not here, so nothing is invented.
    assert_eq!(saving["interval_from"], "none");
    assert_eq!(saving["saved_seconds_low"], Value::Null);
    assert_eq!(colltune["saved_seconds"], 0.0);
    assert_eq!(colltune["without_interval_seconds"], 2.0);
    assert!(output["no_store"].as_str().unwrap().contains("--store"));
    // The library's settings have no rule.
    let library = &output["deployments"][1];
    assert_eq!(library["calls"].as_array().unwrap().len(), 0, "{output}");
    assert_eq!(
        uncovered_seconds(library),
        [(4.0, "the table has no rules for allreduce".to_owned())]
    );
    let text = place
        .run_line("gain table.yaml --profile profile.json")
        .good()
        .out;
    assert!(
        text.contains("Through colltune (libcolltune): no saving has an interval\n  2.00 s saved by speed-ups that have no interval"),
        "{text}"
    );
}

#[test]
fn without_known_waiting_there_is_only_a_most() {
    let place = place_of_calls(&[recorded_call("allreduce", SHAPE, 64, NO_SAMPLES)]);
    let output = place.run_line(GAIN).good().json();
    let colltune = &output["deployments"][0];
    assert_eq!(colltune["calls"][0]["saved_seconds"], Value::Null);
    assert_eq!(colltune["unknown_waiting_at_most_seconds"], 4.0, "{output}");
    assert_eq!(colltune["without_interval_seconds"], 0.0);
}

#[test]
fn what_is_not_covered_is_told_with_the_reason() {
    let place = place_of_calls(&[
        recorded_call("allreduce", OTHER_SHAPE, 64, WAITING),
        recorded_call("allreduce", SHAPE, 1 << 20, WAITING),
        recorded_call("alltoall", SHAPE, 64, WAITING),
        recorded_call("neighbor_alltoall", SHAPE, 64, NO_SAMPLES),
        recorded_call("bcast", SHAPE, 64, NO_SAMPLES).replace("blocking", "nonblocking"),
    ]);
    let ran = place.run_line(GAIN);
    // The table saves nothing.
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let found = uncovered_seconds(&ran.json()["deployments"][0]);
    let expected = [
        (8.0, "tables do not serve persistent"),
        (8.0, "the saving of nonblocking calls is not predicted"),
        (4.0, "the length is outside the measured sizes"),
        (4.0, "nothing was measured on communicators of that shape"),
        (4.0, "the table has no rules for alltoall"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (seconds, start) in expected {
        let is_there =
            |(time, reason): &(f64, String)| *time == seconds && reason.starts_with(start);
        assert!(found.iter().any(is_there), "{start} in {found:?}");
    }
}

#[test]
fn unconfirmed_rules_count_if_asked_for() {
    let place = place_of_calls(&[recorded_call("allreduce", SHAPE, 64, WAITING)]);
    place.write("table.yaml", table_text().replace(", confirmed: true", ""));
    let ran = place.run_line(GAIN);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        uncovered_seconds(&ran.json()["deployments"][0]),
        [(4.0, "the rule is not deployed: not confirmed".to_owned())]
    );
    let output = place
        .run_line(&format!("{GAIN} --unconfirmed"))
        .good()
        .json();
    assert_eq!(output["deployments"][0]["without_interval_seconds"], 2.0);
}

#[test]
fn wrong_profiles_tables_and_stores_are_errors() {
    let place = place_of_calls(&[recorded_call("allreduce", SHAPE, 64, WAITING)]);
    let other = profile_of(
        "mpich-4.0",
        &[recorded_call("allreduce", SHAPE, 64, WAITING)],
    );
    place.write("other.json", other.replace("5f0c", "a001"));
    let line = "gain table.yaml --profile";
    place.run_line(&format!("{line} other.json")).bad(
        2,
        &[
            "recorded with openmpi-4.1.4",
            "table.yaml",
            "record the program",
        ],
    );
    // Beside one of the table's library it does not count, and that is told.
    let both = place.run_line(&format!("{line} other.json --profile profile.json --json"));
    assert_eq!(both.good().json()["other_libraries_seconds"], 8.0);
    place.write("short.json", "{\"format\": \"colltune-profile\"");
    place
        .run_line(&format!("{line} short.json"))
        .bad(2, &["short.json: line 1"]);
    place
        .run_line("gain none.yaml --profile profile.json")
        .bad(2, &["none.yaml"]);
    place.run_line("gain table.yaml").bad(2, &["--profile"]);
    place
        .run_line(&format!("{line} profile.json --store none.db"))
        .bad(2, &["there is no none.db"]);
}

#[test]
fn the_schema_holds() {
    let place = place_of_calls(&[
        recorded_call("allreduce", SHAPE, 64, WAITING),
        recorded_call("alltoall", SHAPE, 64, WAITING),
    ]);
    let schema = place.run_line("schema gain").good().json();
    let output = place.run_line(GAIN).good().json();
    jsonschema::validate(&schema, &output).unwrap();
}

#[test]
fn the_interval_of_a_verdict_becomes_that_of_the_saving() {
    let place = place_of_calls(&[
        recorded_call("allreduce", SHAPE, 64, WAITING),
        recorded_call("allreduce", SHAPE, 4096, NO_SAMPLES),
    ]);
    judge_table(&place);
    let output = place.run_line(GAIN).good().json();
    let colltune = &output["deployments"][0];
    let ends = |of: &Value| {
        ["saved_seconds", "saved_seconds_low", "saved_seconds_high"].map(|key| {
            let seconds = of[key].as_f64();
            seconds.map(|seconds| (seconds * 1e6).round() / 1e6)
        })
    };
    // 4 seconds beside waiting: 1 - 1/1.6, 1 - 1/1.25 and 1 - 1/2 of them.
    let whole = [Some(1.5), Some(0.8), Some(2.0)];
    assert_eq!(ends(colltune), whole, "{output}");
    // Of the 8 seconds of the other calls all or nothing may be waiting.
    assert_eq!(ends(&colltune["calls"][0]), [None, Some(0.0), Some(4.0)]);
    assert_eq!(ends(&colltune["calls"][1]), whole);
    assert_eq!(colltune["calls"][1]["interval_from"], "validation");
    assert_eq!(colltune["unknown_waiting_at_most_seconds"], 4.0);
    assert_eq!(colltune["without_interval_seconds"], 0.0);
}

/// Writes verdicts into the table that make calls 1.25 to 2 times as fast.
fn judge_table(place: &Place) {
    let mut judged = parse_table(&table_text());
    let candidate = judged.collectives[&Collective::Allreduce][0].rules[0]
        .candidate
        .clone();
    let verdict = |bytes| Verdict {
        unix_seconds: 1_795_319_889,
        library: judged.provenance.library.clone(),
        conditions: "0011223344556677".to_owned(),
        pattern: Pattern::Together,
        collective: Collective::Allreduce,
        shape: CommShape { nodes: 1, ppn: 2 },
        order: RankOrder::Block,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
        candidate: candidate.clone(),
        bytes,
        distribution: Distribution::default(),
        found: Found::Faster,
        speedup: Some(PairedRatio {
            median: 1.6,
            interval: Interval {
                low: 1.25,
                high: 2.0,
                coverage: 0.96,
            },
            launches: 9,
        }),
        seed: 1,
        newest_launch: None,
    };
    let verdicts = vec![verdict(64), verdict(4096)];
    judged.verdicts = verdicts;
    place.write("table.yaml", judged.to_yaml());
}

/// Profiles of jobs that spent these seconds in ten calls, half of them waiting, each started after the one before.
fn write_jobs(place: &Place, folder: &str, first: u32, seconds_of_jobs: &[f64]) {
    std::fs::create_dir_all(place.path(folder)).unwrap();
    for (number, seconds) in (first..).zip(seconds_of_jobs) {
        let sampled = format!(
            r#""sampled_calls":10,"sampled_seconds":{seconds:.2},"waiting_seconds":{:.2}"#,
            seconds / 2.0
        );
        let call = recorded_call("allreduce", SHAPE, 64, &sampled)
            .replace("\"seconds\":8.0", &format!("\"seconds\":{seconds:.1}"));
        let text = profile_of("openmpi-4.1.4", &[call])
            .replace("5f0c3a9b12de4477", &format!("5f0c3a9b12de{number:04}"))
            .replace("1795319889", &format!("17953198{number:02}"));
        place.write(&format!("{folder}/{number}.json"), text);
    }
}

const COMPARED: &str = "gain table.yaml --profile without --measured with --json";

#[test]
fn what_jobs_measured_is_shown_beside_the_prediction() {
    let place = Place::new();
    write_jobs(&place, "without", 10, &[8.0, 8.0, 8.0]);
    write_jobs(&place, "with", 20, &[4.0, 5.0, 4.4]);
    judge_table(&place);
    let output = place.run_line(COMPARED).good().json();
    let measured = &output["measured"];
    let round = |value: &Value| (value.as_f64().unwrap() * 1e6).round() / 1e6;
    assert_eq!(measured["pairs"], 3, "{output}");
    // Of 3 times 8 s half is communication, of which 1 - 1/1.6 is saved; each job measured 3 times 2, 1.5 and 1.8 s less.
    let together = &measured["together"];
    for (key, expected) in [
        ("predicted_seconds", 4.5),
        ("predicted_seconds_low", 2.4),
        ("predicted_seconds_high", 6.0),
    ] {
        assert_eq!(round(&together[key]), expected, "{key}: {output}");
    }
    assert_eq!(round(&together["measured"]["seconds"]), 5.4, "{output}");
    let interval = &together["measured"]["interval"];
    assert_eq!(
        [&interval["low"], &interval["high"], &interval["coverage"]].map(round),
        [4.5, 6.0, 0.75],
        "{output}"
    );
    assert_eq!(together["agreement"], "within");
    let calls = measured["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 1, "{output}");
    assert_eq!(calls[0]["measured"], together["measured"], "{output}");
    assert_eq!(calls[0]["candidate"], "allreduce/recursive_doubling");
    // With the waiting it is twice as much.
    assert_eq!(round(&measured["all_collectives"]["seconds"]), 10.8);
    let schema = place.run_line("schema gain").good().json();
    jsonschema::validate(&schema, &output).unwrap();
    let text = place
        .run_line("gain table.yaml --profile without --measured with")
        .good()
        .out;
    assert!(
        text.contains(
            "Measured on 3 pairs of jobs, through colltune (libcolltune):\n  5.40 s (4.50 s to 6.00 s with 75 % \
             confidence) saved in the calls below, predicted 4.50 s (2.40 s to 6.00 s)\n  the measured saving lies \
             within the predicted interval\n"
        ),
        "{text}"
    );
}

#[test]
fn a_measured_saving_may_differ_from_the_predicted_one() {
    let place = Place::new();
    judge_table(&place);
    // Predicted are 0.8 to 2 s for each job.
    for (with, expected) in [
        (&[2.0, 2.0][..], "more"),
        (&[8.0, 7.6], "less"),
        // 2.2 s and 1.9 s.
        (&[3.6, 4.2], "overlapping"),
        (&[5.0, 5.0], "within"),
    ] {
        write_jobs(&place, "without", 10, &[8.0, 8.0]);
        write_jobs(&place, "with", 20, with);
        let output = place.run_line(COMPARED).good().json();
        let agreement = &output["measured"]["together"]["agreement"];
        assert_eq!(agreement, expected, "{with:?}: {output}");
    }
    // What the jobs used the other deployment for has no prediction here.
    let other = place
        .run_line(&format!("{COMPARED} --deployment library"))
        .good()
        .json();
    assert_eq!(other["measured"]["together"], Value::Null, "{other}");
    assert_eq!(other["measured"]["deployment"], "library");
}

#[test]
fn one_pair_of_jobs_has_no_interval_and_others_need_partners() {
    let place = Place::new();
    judge_table(&place);
    write_jobs(&place, "without", 10, &[8.0]);
    write_jobs(&place, "with", 20, &[4.0]);
    let output = place.run_line(COMPARED).good().json();
    let together = &output["measured"]["together"];
    assert_eq!(together["measured"]["seconds"], 2.0, "{output}");
    assert_eq!(together["measured"]["interval"], Value::Null, "{output}");
    let text = place
        .run_line("gain table.yaml --profile without --measured with")
        .good()
        .out;
    assert!(text.contains("one pair has no interval"), "{text}");
    // A job that does not call what is predicted is not compared.
    let other = profile_of(
        "openmpi-4.1.4",
        &[recorded_call("bcast", SHAPE, 64, WAITING)],
    );
    place.write("other.json", other);
    let lacking = place
        .run_line("gain table.yaml --profile without --measured other.json --json")
        .good()
        .json();
    assert_eq!(lacking["measured"]["together"], Value::Null, "{lacking}");
    assert_eq!(
        lacking["measured"]["not_compared_seconds"], 1.5,
        "{lacking}"
    );
    write_jobs(&place, "with", 20, &[4.0, 4.0]);
    place.run_line(COMPARED).bad(
        2,
        &[
            "1 job without the table",
            "2 jobs with it",
            "in turns, and name the profiles of both",
        ],
    );
    place.write(
        "both.json",
        place.read("with/20.json").replace(
            "\n],\n\"calls\"",
            ",\n{\"id\":\"5f0c3a9b12de0099\",\"job\":{\"program\":\"solver\",\"library\":\"openmpi-4.1.4\",\"started\":1795319889,\"ranks\":4,\"all_ranks\":4,\"nodes\":2,\"seconds\":12.5,\"rank_seconds\":50.0,\"arrivals\":\"all_ranks\"}}\n],\n\"calls\"",
        ),
    );
    place
        .run_line("gain table.yaml --profile without --measured both.json")
        .bad(2, &["both.json is of 2 jobs", "a file of its own"]);
}

#[test]
fn rules_that_break_a_requirement_on_bits_save_nothing() {
    let place = place_of_calls(&[recorded_call("allreduce", SHAPE, 64, WAITING)]);
    let ring = table_text()
        .replace("allreduce/recursive_doubling", "allreduce/ring")
        .replace("operators: any", "operators: commutative");
    place.write("table.yaml", ring);
    let free = place.run_line(GAIN).good().json();
    assert_eq!(free["deployments"][0]["without_interval_seconds"], 2.0);
    let ran = place.run_line(&format!("{GAIN} --numerics independent_of_size"));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        uncovered_seconds(&ran.json()["deployments"][0]),
        [(
            4.0,
            "the rule is not deployed: other bits at another size".to_owned()
        )]
    );
    // The ring does not know nodes.
    let placed = place.run_line(&format!("{GAIN} --numerics independent_of_placement"));
    assert_eq!(placed.code, Some(0), "{placed:?}");
    place
        .run_line(&format!("{GAIN} --numerics exact"))
        .bad(2, &["--numerics", "must be none"]);
}
