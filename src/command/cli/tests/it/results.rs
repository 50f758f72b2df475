//! Queries of stores and tables.

use serde_json::{Value, json};

use crate::made;
use crate::run::{Place, keys};

const STORE: &str = ".colltune/made.db";

/// A folder with a store and the table made from it.
fn with_table() -> Place {
    let place = made::place();
    place
        .run(&["decide", STORE, "-o", "tables/made.yaml", "--quiet"])
        .good();
    place
}

/// A query of that table.
fn ask<'a>(verb: &'a str, bytes: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let question = "tables/made.yaml -c allreduce -n 1 -k 2 -b".split(' ');
    let question = [verb].into_iter().chain(question).chain([bytes]);
    question.chain(more.iter().copied()).collect()
}

#[test]
fn lookup_answers_with_the_rule() {
    let place = with_table();
    insta::assert_snapshot!(place.run(&ask("lookup", "512K", &[])).good().out);
    insta::assert_snapshot!(place.run(&ask("lookup", "8", &[])).good().out);

    let decision = place.run(&ask("lookup", "1M", &["--json"])).good().json();
    assert_eq!(
        keys(&decision),
        [
            "algorithm",
            "bracketed_by",
            "bytes",
            "candidate",
            "collective",
            "confidence",
            "confirmed",
            "default_seconds",
            "deployed",
            "deployment",
            "depth",
            "expected_seconds",
            "nodes",
            "operator",
            "parameters",
            "ppn",
            "reason",
            "rule",
            "shape",
            "speedup",
            "times_of"
        ]
    );
    assert_eq!(
        decision["candidate"],
        "allreduce/dual_root[block_bytes=64K]"
    );
    assert_eq!(decision["algorithm"], "dual_root");
    assert_eq!(decision["deployed"], false);
    assert_eq!(decision["reason"], "not confirmed");
    assert_eq!(decision["parameters"], json!({"block_bytes": 65536}));
    assert_eq!(decision["bytes"], 1 << 20);
    let number = |key: &str| decision[key].as_f64().unwrap();
    assert!((number("speedup") - 2.4).abs() < 0.01, "{decision}");
    assert!((number("default_seconds") / number("expected_seconds") - 2.4).abs() < 0.01);
}

#[test]
fn lookup_says_when_the_shape_was_not_measured() {
    let place = with_table();
    let args = [
        "lookup",
        "tables/made.yaml",
        "-c",
        "allreduce",
        "-n",
        "4",
        "-k",
        "8",
        "-b",
        "1M",
    ];
    let text = place.run(&args).good().out;
    assert!(text.contains("not measured: nearest 1x2"), "{text}");
    let times = ["expected ", "default "].map(|word| {
        let mut lines = text.lines().map(str::trim_start);
        lines.find(|line| line.starts_with(word)).expect("a time")
    });
    assert!(times.iter().all(|line| line.contains(" on 1x2")), "{text}");
    let args = [&args[..], &["-o", "noncommutative", "--json"]].concat();
    let decision = place.run(&args).good().json();
    // Nothing was measured with such an operator.
    assert_eq!(decision["shape"], "none");
    assert_eq!(decision["candidate"], "default");
    assert_eq!(decision["confidence"], "low");
    assert_eq!(decision["operator"], "noncommutative");
}

#[test]
fn explain_shows_the_evidence() {
    let place = with_table();
    insta::assert_snapshot!(place.run(&ask("explain", "1M", &[])).good().out);
    let told = place
        .run(&ask("explain", "100K", &["--json"]))
        .good()
        .json();
    assert_eq!(
        keys(&told),
        [
            "cold_cache",
            "common_starts",
            "decision",
            "disagreement",
            "evidence",
            "measuring_time",
            "no_evidence",
            "pattern",
            "store"
        ]
    );
    assert_eq!(told["common_starts"], "by a dissemination barrier");
    assert_eq!(told["measuring_time"], Value::Null, "made up without");
    assert_eq!(told["store"], STORE);
    assert_eq!(told["no_evidence"], Value::Null);
    // One measured size below, one above.
    assert_eq!(told["evidence"][0]["bytes"], 8192);
    assert_eq!(told["evidence"][1]["bytes"], 1 << 20);
    let evidence = &told["evidence"][1];
    assert_eq!(
        keys(evidence),
        [
            "best_other",
            "bytes",
            "chosen",
            "distribution",
            "margin",
            "margin_interval",
            "never_valid",
            "ranking",
            "why"
        ]
    );
    let first = &evidence["ranking"][0];
    assert_eq!(
        keys(first),
        [
            "algorithm",
            "batch",
            "beats_default",
            "behind_fastest",
            "candidate",
            "interval",
            "invalid",
            "launches",
            "left_launches",
            "median_seconds",
            "other_batches",
            "parameters",
            "predicted_seconds",
            "repetitions",
            "speedup",
            "speedup_interval",
            "speedup_launches"
        ]
    );
    assert_eq!(first["candidate"], evidence["chosen"]);
    assert_eq!(first["algorithm"], "dual_root");
}

/// The default has no times at 1M in two of the six launches.
#[test]
fn a_speed_up_has_its_own_number_of_launches() {
    let place = with_table();
    let store = rusqlite::Connection::open(place.path(STORE)).unwrap();
    let of_default = "DROP TRIGGER sample_delete;
        DELETE FROM sample WHERE launch > 4 AND EXISTS (
            SELECT 1 FROM task JOIN subject ON subject.id = task.subject
            WHERE task.launch = sample.launch AND task.number = sample.task
            AND json_extract(subject.definition, '$.cell.bytes') = 1048576
        ) AND (SELECT definition FROM candidate WHERE id = sample.candidate) LIKE '%default%'";
    store.execute_batch(of_default).unwrap();
    drop(store);
    let told = place.run(&ask("explain", "1M", &[])).good().out;
    assert!(
        told.contains("from 4 launches; it is 2.40 to 2.40 times with 87.5 %"),
        "{told}"
    );
    let explained = place.run(&ask("explain", "1M", &["--json"])).good().json();
    let chosen = &explained["evidence"][0]["ranking"][0];
    assert_eq!(
        (&chosen["launches"], &chosen["speedup_launches"]),
        (&json!(6), &json!(4))
    );
}

/// The numbers before `times as long`.
fn ratios(text: &str) -> Vec<&str> {
    let before = text
        .split(" times as long")
        .map(|part| part.rsplit(' ').next());
    let mut ratios: Vec<&str> = before.flatten().collect();
    ratios.pop();
    ratios
}

#[test]
fn an_answer_shows_one_ratio() {
    let place = made::uneven();
    place
        .run(&["decide", STORE, "-o", "tables/made.yaml", "--quiet"])
        .good();
    let found = place.run(&ask("lookup", "1M", &["--json"])).good().json();
    let number = |value: &Value| value.as_f64().unwrap();
    let speedup = number(&found["speedup"]);
    let of_medians = number(&found["default_seconds"]) / number(&found["expected_seconds"]);
    assert!((of_medians / speedup - 1.0).abs() > 0.1, "{found}");

    let path = place.path("tables/made.yaml");
    let table = std::fs::read_to_string(&path).unwrap();
    assert!(
        table.contains("          speedup:              ["),
        "{table}"
    );
    let is_kept = |line: &&str| !line.starts_with("          speedup:");
    let of_before: String = table.split_inclusive('\n').filter(is_kept).collect();
    for written in [table.clone(), of_before] {
        std::fs::write(&path, written).unwrap();
        let told = place.run(&ask("explain", "1M", &["--json"])).good().json();
        assert_eq!(told["disagreement"], Value::Null);
        assert_eq!(number(&told["decision"]["speedup"]), speedup);
        let evidence = &told["evidence"][0];
        let ranking = evidence["ranking"].as_array().unwrap();
        let mut chosen = ranking
            .iter()
            .filter(|ranked| ranked["candidate"] == evidence["chosen"]);
        assert_eq!(number(&chosen.next().unwrap()["speedup"]), speedup);
        let text = place.run(&ask("explain", "1M", &[])).good().out;
        let ratio = format!("{speedup:.2}");
        assert_eq!(ratios(&text), [ratio.as_str(); 2], "{text}");
    }
}

#[test]
fn explain_mentions_batches_and_invalid_repetitions() {
    let place = with_table();
    let plain = place.run(&ask("explain", "1M", &[])).good().out;
    for word in ["calls", "invalid"] {
        assert!(!plain.contains(word), "{plain}");
    }
    made::disturbed_store(&place.path("disturbed.db"));
    let asked = ask("explain", "1M", &["--store", "disturbed.db"]);
    let told = place.run(&asked).good().out;
    for part in [
        " invalid\n",
        "6 of 18\n",
        "\nTimes are per call, from 16 calls in a row.\n",
        "\nLaunches with other numbers of calls are left out: 2.\n",
        "\nallreduce/recursive_doubling is not ranked: it has 24 repetitions, none of them valid.",
    ] {
        assert!(told.contains(part), "{part}:\n{told}");
    }
}

#[test]
fn explain_answers_from_the_table_alone_without_a_store() {
    let place = with_table();
    std::fs::rename(place.path(STORE), place.path("moved.db")).unwrap();
    let told = place.run(&ask("explain", "1M", &["--json"])).good().json();
    assert_eq!(told["evidence"], json!([]));
    assert_eq!(
        told["no_evidence"],
        "the store .colltune/made.db is not here; name it with `--store`"
    );
    assert_eq!(told["decision"]["algorithm"], "dual_root");
    let text = place.run(&ask("explain", "1M", &[])).good().out;
    assert!(
        text.contains("the store .colltune/made.db is not here"),
        "{text}"
    );

    let from_moved = place
        .run(&ask("explain", "1M", &["--store", "moved.db"]))
        .good()
        .out;
    assert!(from_moved.contains("At 1M bytes"), "{from_moved}");
    // A named store must exist.
    place
        .run(&ask("explain", "1M", &["--store", "nowhere.db"]))
        .bad(2, &["there is no store at nowhere.db"]);
}

#[test]
fn fit_recovers_the_machine() {
    let place = made::place();
    let args = ["fit", STORE];
    insta::assert_snapshot!(place.run(&args).good().out);
    let fit = place.run(&["fit", STORE, "--json"]).good().json();
    assert_eq!(
        keys(&fit),
        [
            "blocks",
            "candidates",
            "library",
            "models",
            "name",
            "parameters",
            "poor_predictions",
            "segments",
            "store"
        ]
    );
    let parameters = fit["parameters"].as_array().unwrap();
    let alpha = parameters
        .iter()
        .find(|p| p["name"] == "node.alpha")
        .unwrap();
    assert_eq!(
        keys(alpha),
        [
            "coverage",
            "high",
            "identified",
            "low",
            "name",
            "note",
            "residual",
            "unit",
            "value"
        ]
    );
    assert_eq!(
        (&alpha["unit"], &alpha["identified"]),
        (&json!("s"), &json!(true))
    );
    assert!(
        (alpha["value"].as_f64().unwrap() / 1e-6 - 1.0).abs() < 0.05,
        "{alpha}"
    );
    let block = fit["blocks"].as_array().unwrap().last().unwrap();
    assert_eq!(
        keys(block),
        [
            "algorithm",
            "bytes",
            "candidate",
            "collective",
            "measured",
            "measured_near_prediction",
            "nodes",
            "ppn",
            "predicted"
        ]
    );
    assert_eq!(block["measured"]["block_bytes"], 65536);
    assert!(block["predicted"]["block_bytes"].is_u64(), "{block}");
    fits_of_candidates(&fit["candidates"]);
}

fn fits_of_candidates(candidates: &Value) {
    let candidates = candidates.as_array().unwrap();
    let named = |name: &str| {
        candidates
            .iter()
            .find(|of| of["candidate"] == name)
            .unwrap()
    };
    let doubling = named("allreduce/recursive_doubling");
    assert_eq!(
        keys(doubling),
        [
            "candidate",
            "collective",
            "datatype",
            "interpolation_error",
            "nodes",
            "operator",
            "ppn",
            "segments",
            "sizes",
            "straight"
        ]
    );
    let segment = &doubling["segments"][0];
    assert_eq!(
        keys(segment),
        [
            "alpha_seconds",
            "beta_seconds_per_byte",
            "from_bytes",
            "residual",
            "sizes"
        ]
    );
    assert_eq!(segment, &doubling["straight"]);
    // Twice 1 us and 1.5 ns a byte.
    let alpha = segment["alpha_seconds"].as_f64().unwrap();
    let beta = segment["beta_seconds_per_byte"].as_f64().unwrap();
    assert!((alpha / 2e-6 - 1.0).abs() < 0.01 && (beta / 3e-9 - 1.0).abs() < 0.01);
    let rare = named("allreduce/dual_root[block_bytes=64K]");
    assert_eq!((&rare["sizes"], &rare["segments"]), (&json!(1), &json!([])));
}

#[test]
fn decide_prints_or_writes_the_same_table() {
    let place = with_table();
    let printed = place.run(&["decide", STORE]).good().out;
    assert_eq!(printed, place.read("tables/made.yaml"));
    let decided = place.run(&["decide", STORE, "--json"]).good().json();
    assert_eq!(keys(&decided), ["library", "name", "rules", "store"]);
    let rules = decided["rules"].as_array().unwrap();
    assert_eq!(
        keys(&rules[0]),
        [
            "algorithm",
            "candidate",
            "collective",
            "confidence",
            "confirmed",
            "deployment",
            "from_bytes",
            "nodes",
            "operators",
            "order",
            "parameters",
            "ppn",
            "speedup"
        ]
    );
    let algorithms: Vec<_> = rules.iter().map(|rule| &rule["algorithm"]).collect();
    assert_eq!(algorithms, ["default", "recursive_doubling", "dual_root"]);
}

#[test]
fn report_is_the_same_from_store_and_table() {
    let place = with_table();
    let of_store = place.run(&["report", STORE]).good().out;
    assert!(of_store.starts_with("# "), "{of_store}");
    let of_table = place.run(&["report", "tables/made.yaml", "--format", "md"]);
    assert_eq!(of_table.good().out, of_store);
    let to_file = place.run(&["report", STORE, "--output", "reports/made.md"]);
    assert_eq!(to_file.good().out, "reports/made.md is written\n");
    assert_eq!(place.read("reports/made.md"), of_store);
}

#[test]
fn report_comes_in_three_forms() {
    let place = with_table();
    let page = place.run(&["report", STORE, "--format", "html"]).good().out;
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("id=\"allreduce-map-2\""));
    let csv = place.run(&["report", STORE, "--format", "csv"]).good().out;
    // Three sizes, four candidates at the largest.
    assert!(csv.starts_with("collective,operators,datatype,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 8, "{csv}");
    let help = place.run(&["report", "--help"]).good().out;
    for column in csv.lines().next().unwrap().split(',') {
        assert!(
            help.contains(&format!("`{column}`")),
            "{column} is not explained"
        );
    }
    let chosen = csv.lines().filter(|line| line.contains(",yes,"));
    assert_eq!(chosen.count(), 3, "{csv}");
}

#[test]
fn report_draws_the_maps_of_a_collective() {
    let place = with_table();
    for source in [STORE, "tables/made.yaml"] {
        let svg = place
            .run(&["report", source, "--map", "allreduce"])
            .good()
            .out;
        assert!(svg.starts_with("<svg xmlns="), "{svg}");
        assert!(svg.contains(">dual_root</text>"), "{svg}");
    }
    let ran = place.run(&["report", STORE, "--map", "gather"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(
        ran.err,
        "error: .colltune/made.db has no times of gather to draw\nhelp: it has times of allreduce\n"
    );
    let both = place.run(&["report", STORE, "--map", "gather", "--format", "csv"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn report_uses_the_table_alone_without_a_store() {
    let place = with_table();
    std::fs::rename(place.path(STORE), place.path("moved.db")).unwrap();
    for (format, text) in [
        ("md", "This report is made from a table alone"),
        ("html", "This report is made from a table alone"),
        ("csv", ",allreduce/dual_root[block_bytes=64K],"),
    ] {
        let ran = place.run(&["report", "tables/made.yaml", "--format", format]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains(text), "{}", ran.out);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(ran.err.contains("the store .colltune/made.db is not here"));
    }
    // A named store must exist.
    place
        .run(&["report", "tables/made.yaml", "--store", "nowhere.db"])
        .bad(2, &["there is no nowhere.db", "--store"]);
    let args = ["report", "tables/made.yaml", "--store", "moved.db"];
    assert!(!place.run(&args).good().out.contains("table alone"));
}

#[test]
fn one_of_several_libraries_in_a_store_must_be_named() {
    let place = Place::new();
    made::store(&place.path("both.db"), &["openmpi", "mpich"]);
    for verb in ["fit", "decide", "report", "evaluate"] {
        place.run(&[verb, "both.db"]).bad(
            2,
            &[
                "several libraries: mpich-4.1.4, openmpi-4.1.4",
                "--library mpich-4.1.4",
            ],
        );
    }
    let args = ["decide", "both.db", "--library", "mpich-4.1.4", "--json"];
    let decided = place.run(&args).good().json();
    assert_eq!(decided["library"]["name"], "mpich");
    place
        .run(&["fit", "both.db", "--library", "mpich-3.0"])
        .bad(
            2,
            &[
                "no measurements of mpich-3.0",
                "it holds measurements of mpich-4.1.4, openmpi-4.1.4",
            ],
        );
}

#[test]
fn a_reader_that_closes_the_output_is_no_error() {
    let place = Place::new();
    let args = [
        "schedule",
        "show",
        "dual_root",
        "--ranks",
        "900",
        "--blocks",
        "90",
    ];
    let mut child = place.command(&args).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(place.anonymous(&output.stderr), "");
}

#[test]
fn diff_shows_changes_and_their_worth() {
    let place = with_table();
    let path = "tables/made.yaml";
    let same = place.run(&["diff", path, path, "--exit-code"]).good();
    assert!(
        same.out
            .contains("Where both have rules, they make the same choices."),
        "{}",
        same.out
    );
    // Another table, without the largest blocks and without the rules of one class of operators.
    let table = place.read(path);
    let other = table.replace("block_bytes: 64K", "block_bytes: 16K");
    assert_ne!(table, other);
    place.write("tables/other.yaml", &other);
    let differing = ["diff", path, "tables/other.yaml"];
    insta::assert_snapshot!(place.run(&differing).good().out);
    let found = place.run(&[&differing[..], &["--exit-code", "--json"]].concat());
    assert_eq!(found.code, Some(1));
    let found = found.json();
    assert_eq!(
        keys(&found),
        [
            "after",
            "before",
            "changes",
            "defaults",
            "in_both",
            "note",
            "only_in_one"
        ]
    );
    let change = &found["changes"][0];
    assert_eq!(
        keys(change),
        [
            "after",
            "before",
            "below_bytes",
            "collective",
            "deployment",
            "from_bytes",
            "nodes",
            "operators",
            "order",
            "ppn",
            "worth"
        ]
    );
    assert_eq!(
        keys(&change["after"]),
        [
            "algorithm",
            "candidate",
            "confidence",
            "parameters",
            "speedup"
        ]
    );
    // Both tables have the same times.
    assert_eq!(change["worth"], json!(1.0));
}

#[test]
fn decide_takes_the_largest_regret_of_a_shorter_table() {
    let place = Place::new();
    let mut rows = "collective,library,algorithm,bytes,launch,seconds\n".to_owned();
    // The tree is best at the first size, the chain by 3 % at the second.
    for (bytes, tree, chain) in [(64, 1.0, 1.2), (4096, 1.03, 1.0)] {
        for launch in 1..=6 {
            for (library, algorithm, time) in [
                ("default", "", 2.0),
                ("x", "tree", tree),
                ("x", "chain", chain),
            ] {
                rows += &format!("bcast,{library},{algorithm},{bytes},{launch},{time}e-6\n");
            }
        }
    }
    place.write("times.csv", rows);
    let import = "import times.csv --format csv --store a.db --library x-1 --nodes 1 --ppn 4";
    place.run_line(import).good();
    let rules = |limit: &str| {
        let decided = place.run(&["decide", "a.db", "--json", "--max-regret", limit]);
        let rules = decided.good().json()["rules"].as_array().unwrap().clone();
        let names = rules.iter().map(|rule| rule["algorithm"].clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(rules("0.01"), ["tree", "chain"]);
    assert_eq!(rules("0.04"), ["tree"]);
    place
        .run(&["decide", "a.db", "--max-regret", "much"])
        .bad(2, &["write a share of one"]);
}
