//! `validate` and `check` measure tables again, on a simulated machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use table::{MeasuredPoint, Rule, Table};
use vocabulary::{Candidate, Parameters};

use crate::made;
use crate::run::{Place, Ran, keys};

const CAMPAIGN: &str = "\
name: small
launcher: {simulated: {machine: fat-tree.yaml, seed: 7}}
shapes: [4x4]
collectives: [allreduce, bcast]
sizes: [64, 2056, 64K, 1M]
strategy: exhaustive
confirmation: off
# Without them so few sizes put thresholds where nothing is slower than the default, but for what tests add.
candidates: {exclude: ['*/circulant', '*/leaders*', '*/lanes']}
parameters: {block_bytes: 16K, predicted: false, radix: 4, through: mpi}
repetitions: {slice: 20ms}
budget: 10h
";

pub(crate) const TABLE: &str = "tables/small.yaml";

/// A place with a tuned table and its store.
pub(crate) fn place() -> Place {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines");
    let machine = fs::read_to_string(root.join("fat-tree.yaml")).unwrap();
    place.write("fat-tree.yaml", machine);
    place.write("campaign.yaml", CAMPAIGN);
    let tuned = place.run(&["tune", "campaign.yaml"]);
    assert_eq!(tuned.code, Some(0), "{tuned:?}");
    place
}

/// Makes the table choose, for long broadcasts, a candidate that is far slower than the default.
pub(crate) fn spoil(place: &Place) {
    let path = place.path(TABLE);
    let mut table = Table::load(&path).unwrap();
    let entry = &mut table
        .collectives
        .get_mut(&schedule::Collective::Bcast)
        .unwrap()[0];
    let slow = Candidate::Ours {
        algorithm: "bcast/linear".to_owned(),
        parameters: Parameters::default(),
    };
    entry.rules.retain(|rule| rule.from_bytes < 30_000);
    let confidence = table::Confidence::High;
    entry
        .rules
        .push(Rule::new(30_000, slow, Some(9.0), confidence));
    table.save(&path).unwrap();
}

/// Asserts the exit code of a run, that its only warning is that times are simulated, and that no temporary files are
/// left.
#[track_caller]
fn ended(place: &Place, ran: Ran, code: i32) -> Ran {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(
        ran.err.starts_with("warning: nothing was measured"),
        "{}",
        ran.err
    );
    let names = place.files().into_keys();
    let left: Vec<_> = names
        .filter(|name| name.to_string_lossy().contains("/table-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    ran
}

/// The elements of an XML text with their attributes, which must be well formed.
#[track_caller]
fn elements(xml: &str) -> Vec<(String, String)> {
    let body = xml
        .strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
        .unwrap();
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        assert!(!text.contains('>'), "{text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let inner = tag.strip_suffix('/').unwrap_or(tag);
        let (name, attributes) = inner.split_once(' ').unwrap_or((inner, ""));
        assert_eq!(attributes.matches('"').count() % 2, 0, "{attributes}");
        found.push((name.to_owned(), attributes.to_owned()));
        if inner == tag {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?}");
    found
}

#[test]
fn a_table_that_holds_passes_its_check() {
    let place = place();
    let before = place.read(TABLE);
    let files = ["--junit", "out/check.xml", "--markdown", "out/check.md"];
    let cells = ["check", TABLE, "--cells", "5", "--seed", "7", "--json"];
    let args = [&cells[..], &files[..]].concat();
    let found = ended(&place, place.run(&args), 0).json();
    let expected = [
        "further_launches",
        "holds",
        "library",
        "machine",
        "other_order",
        "points",
        "runners_up",
        "seed",
        "slower_machine",
        "table",
        "warnings",
    ];
    assert_eq!(keys(&found), expected);
    assert_eq!(found["holds"], true);
    assert_eq!(found["slower_machine"], false);
    assert_eq!(found["runners_up"], serde_json::Value::Null);
    assert_eq!(found["seed"], 7);
    let (probes, points): (Vec<_>, Vec<_>) = found["points"]
        .as_array()
        .unwrap()
        .iter()
        .partition(|point| point["place"] == "probe");
    assert_eq!((points.len(), probes.len()), (5, 2));
    for probe in probes {
        assert_eq!(probe["regression"], false);
        assert!(probe["default_seconds"].as_f64().unwrap() > 0.0);
        assert!(probe["recorded_seconds"].is_null() && probe["runner_up"].is_null());
    }
    for point in points {
        assert_eq!(point["regression"], false);
        assert!(point["seconds"].as_f64().unwrap() > 0.0);
        assert!(point["recorded_seconds"].as_f64().unwrap() > 0.0);
        assert!(
            point["runner_up_seconds"].as_f64().unwrap() > 0.0,
            "{point}"
        );
    }
    let elements = elements(&place.read("out/check.xml"));
    let count = |name: &str| elements.iter().filter(|(tag, _)| tag == name).count();
    assert_eq!((count("testcase"), count("failure")), (7, 0));
    // Tests that can be followed: a name has neither the choice nor a random size, and there is one test of each.
    let attribute = |text: &str, name: &str| {
        let text = format!(" {text}");
        let (_, rest) = text.split_once(&format!(" {name}=\"")).expect(name);
        rest.split('"').next().map(str::to_owned).expect("its end")
    };
    let cases = elements.iter().filter(|(tag, _)| tag == "testcase");
    let names = cases.clone().map(|(_, text)| attribute(text, "name"));
    let names: std::collections::BTreeSet<String> = names.collect();
    assert_eq!(names.len(), 7, "{names:?}");
    let of_probes = names.iter().filter(|name| name.contains("(probe)"));
    for name in of_probes.clone() {
        let probe_place = name.split(" (probe)").next().expect("a place");
        let mut others = probe_place.split(' ').skip(2);
        let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        assert!(!others.any(is_number), "a size: {name}");
    }
    assert_eq!(of_probes.count(), 2, "{names:?}");
    assert!(
        !names
            .iter()
            .any(|name| name.contains('/') || name.contains("default")),
        "{names:?}"
    );
    let seconds = |text: &str| attribute(text, "time").parse::<f64>().expect("seconds");
    let sum: f64 = cases.map(|(_, text)| seconds(text)).sum();
    let whole = seconds(&elements[1].1);
    assert!(
        whole > 0.0 && (sum - whole).abs() < 0.01,
        "{sum} of {whole}"
    );
    let xml = place.read("out/check.xml");
    assert_eq!(xml.matches("<property name=\"chosen\"").count(), 7, "{xml}");
    for total in ["tests=\"7\"", "failures=\"0\"", "skipped=\"0\""] {
        assert!(elements[1].1.contains(total), "{elements:?}");
    }
    let markdown = place.read("out/check.md");
    assert!(
        markdown.contains("The table holds at 7 points"),
        "{markdown}"
    );
    assert!(
        markdown.contains("sizes: 2 probes;") && markdown.contains("`--seed 7` draw the same"),
        "{markdown}"
    );
    assert_eq!(place.read(TABLE), before);

    // The same seed gives the same answer, and so does the table alone if the campaign is beside it.
    let again = ended(&place, place.run(&args), 0).json();
    assert_eq!(again, found);
    fs::rename(place.path(".colltune"), place.path("moved")).unwrap();
    let refused = place.run(&["check", TABLE]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--campaign FILE"), "{}", refused.err);
    let alone = place.run(&["check", TABLE, "--campaign", "campaign.yaml"]);
    let told = ended(&place, alone, 0).out;
    assert!(
        told.contains("Runners-up are not known, since the store"),
        "{told}"
    );
}

/// A table names any file as its store, and a campaign there has programs to start.
#[test]
fn a_campaign_is_taken_from_no_store_that_another_may_have_written() {
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    let place = place();
    let store = place.path(".colltune/small.db");
    let check = |expected: &str| {
        for verb in ["check", "validate"] {
            let refused = place.run(&[verb, TABLE]);
            refused.bad(2, &[expected, "--campaign FILE"]);
        }
    };
    let permit = |mode| fs::set_permissions(&store, fs::Permissions::from_mode(mode)).unwrap();
    permit(0o666);
    check("is not used: other users may write to it");
    permit(0o644);
    if nix::unistd::Uid::effective().is_root() {
        chown(&store, Some(65534), None).unwrap();
        check("is not used: it belongs to another user");
        // A campaign that the user names is used with its store all the same.
        let named = [
            "check",
            TABLE,
            "--campaign",
            "campaign.yaml",
            "--cells",
            "1",
        ];
        let told = ended(&place, place.run(&named), 0).out;
        assert!(!told.contains("Runners-up are not known"), "{told}");
        chown(&store, Some(0), None).unwrap();
        // Another user's folder can lead to this user's store, and has programs of the names in its campaign.
        let (own, moved) = (place.path(".colltune"), place.path("moved"));
        fs::rename(&own, &moved).unwrap();
        symlink("moved", &own).unwrap();
        lchown(&own, Some(65534), None).unwrap();
        check("is not used: a link of another user leads to it");
        fs::remove_file(&own).unwrap();
        fs::rename(&moved, &own).unwrap();
    }
    // Other users may have put a campaign beside the launches, from where it comes into the store.
    let launches = place.path(".colltune/small.db.launches");
    let permit_launches =
        |mode| fs::set_permissions(&launches, fs::Permissions::from_mode(mode)).unwrap();
    permit_launches(0o777);
    check("small.db.launches: other users may write to it");
    permit_launches(0o755);
    // A copy of a store is not where its campaign measures.
    fs::copy(&store, place.path("copy.db")).unwrap();
    let table = place.read(TABLE);
    place.write(
        TABLE,
        table.replace("store: .colltune/small.db", "store: copy.db"),
    );
    check("the campaign in copy.db is not used: it measures into another store");
}

#[test]
fn without_a_store_neither_runners_up_nor_verdicts_are_kept() {
    let place = place();
    let args = ["check", TABLE, "--no-store", "--campaign", "campaign.yaml"];
    let told = ended(&place, place.run(&args), 0).out;
    let why = "Runners-up are not known, since no store is to be used";
    assert!(told.contains(why), "{told}");
    let before = fs::read(place.path(".colltune/small.db")).unwrap();
    let validate = [
        "validate",
        TABLE,
        "--no-store",
        "--campaign",
        "campaign.yaml",
    ];
    place.run(&validate);
    assert_eq!(fs::read(place.path(".colltune/small.db")).unwrap(), before);
    place
        .run(&["check", TABLE, "--no-store"])
        .bad(2, &["--campaign FILE"]);
}

#[test]
fn a_table_that_no_longer_holds_fails_its_check() {
    let place = place();
    spoil(&place);
    let named_to_be_escaped = "a<b&c.yaml";
    fs::copy(place.path(TABLE), place.path(named_to_be_escaped)).unwrap();
    let files = ["--junit", "check.xml", "--markdown", "check.md"];
    let check = ["check", named_to_be_escaped, "--probes", "0"];
    let ran = place.run(&[&check[..], &files[..]].concat());
    let told = ended(&place, ran, 1).out;
    assert!(told.contains("bcast/linear takes"), "{told}");
    assert!(told.contains("times the default, in"), "{told}");
    let elements = elements(&place.read("check.xml"));
    assert!(elements[1].1.contains("a&lt;b&amp;c.yaml"), "{elements:?}");
    let failures: Vec<_> = elements
        .iter()
        .filter(|(name, _)| name == "failure")
        .collect();
    assert_eq!(failures.len(), 2, "{elements:?}");
    assert!(failures[0].1.contains("times the default"), "{failures:?}");
    let markdown = place.read("check.md");
    assert!(markdown.contains("does not hold at 2 of"), "{markdown}");
    assert!(markdown.contains("| WRONG | `bcast/linear` "), "{markdown}");
}

/// Time is up after the first launches, in which the spoilt rules were slower.
#[test]
fn a_check_with_an_open_suspect_has_decided_nothing() {
    let place = place();
    spoil(&place);
    let files = ["--junit", "open.xml", "--markdown", "open.md"];
    let run = |budget: &str, more: &[&str]| {
        let check = ["check", TABLE, "--probes", "0", "--budget", budget];
        place.run(&[&check[..], &files[..], more].concat())
    };
    let budgets = (0..12).map(|doublings| format!("{}ms", 100 << doublings));
    let open = |budget: &String| {
        let ran = run(budget, &["--json"]);
        let found = (!ran.out.is_empty()).then(|| ran.json())?;
        let points = found["points"].as_array()?.clone();
        let is_open = |point: &serde_json::Value| point["suspicions"] != serde_json::json!([]);
        let open: Vec<_> = points.into_iter().filter(is_open).collect();
        (!open.is_empty()).then(|| (budget.clone(), ran.code, found, open))
    };
    let (budget, code, found, open) = budgets.filter_map(|budget| open(&budget)).next().unwrap();
    assert_eq!((code, &found["holds"]), (Some(3), &serde_json::Value::Null));
    let finding = &open[0]["findings"][0];
    assert!(finding["ratio"].as_f64().unwrap() > 2.0, "{finding}");
    assert_eq!(
        (&finding["undecided"], &open[0]["decided"]),
        (&true.into(), &false.into())
    );
    let ran = run(&budget, &[]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let told = ran.out;
    assert!(
        told.contains("It could not be determined whether the table holds")
            && told.contains("Give the launches more time with `--budget`."),
        "{told}"
    );
    let suspicion = open[0]["suspicions"][0].as_str().unwrap();
    assert!(suspicion.contains("bcast/linear takes"), "{suspicion}");
    assert!(told.contains(suspicion), "{told}");
    assert!(place.read("open.md").contains("but there were too few"));
    let elements = elements(&place.read("open.xml"));
    let verdict = elements
        .iter()
        .find(|(name, _)| name == "property")
        .unwrap();
    assert!(verdict.1.contains("could not be determined"), "{verdict:?}");
    let skipped = elements.iter().filter(|(name, _)| name == "skipped");
    assert!(skipped.count() >= open.len());
}

#[test]
fn a_check_on_another_machine_needs_an_option() {
    let place = place();
    let slower = place.read("fat-tree.yaml").replace("1.6e-6", "3.2e-6");
    place.write("fat-tree.yaml", slower);
    let refused = place.run(&["check", TABLE]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(
        refused.err.contains("the table is for simulated-fat-tree-"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("--any-version"), "{}", refused.err);
    let ran = place.run(&["check", TABLE, "--any-version"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("the library or the machine became slower"),
        "{}",
        ran.out
    );
    // With a larger tolerance nothing is found.
    let tolerant = place.run(&[
        "check",
        TABLE,
        "--any-version",
        "--tolerance",
        "9",
        "--materiality",
        "9",
    ]);
    assert_eq!(tolerant.code, Some(0), "{tolerant:?}");
    place.write("tables/absent.yaml", "format: colltune-table 9\n");
    place
        .run(&["check", "tables/absent.yaml"])
        .bad(2, &["format"]);
}

/// A machine on which all work takes this many times as long; disturbances are as frequent as before.
fn slow_machine(machine: &str, factor: f64) -> String {
    const TIMES: [&str; 6] = [
        "alpha",
        "overhead",
        "beta",
        "injection_beta",
        "gamma",
        "copy",
    ];
    let slow_line = |line: &str| match line.split_once(": ") {
        Some((key, value)) if TIMES.contains(&key.trim()) => {
            let seconds: f64 = value.parse().unwrap();
            format!("{key}: {:.4e}\n", seconds * factor)
        }
        _ => format!("{line}\n"),
    };
    machine.lines().map(slow_line).collect()
}

#[test]
fn a_slower_machine_and_a_wrong_table_have_different_exit_codes() {
    let place = place();
    let machine = place.read("fat-tree.yaml");
    let slower = slow_machine(&machine, 1.5);
    assert_eq!(slower.matches("e-").count(), machine.matches("e-").count());
    place.write("fat-tree.yaml", &slower);
    let check = ["check", TABLE, "--any-version", "--probes", "0"];
    let check_as_json = [&check[..], &["--json"]].concat();

    // Everything takes longer, so that the choices are still the best.
    let ran = place.run(&check);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let told = "The library or the machine became slower: at ";
    assert!(ran.out.contains(told), "{}", ran.out);
    let found = place.run(&check_as_json);
    assert_eq!(found.code, Some(5), "{found:?}");
    let found = found.json();
    assert_eq!(
        (&found["holds"], &found["slower_machine"]),
        (&false.into(), &true.into())
    );

    // A choice that is slow compared with the default is wrong on any machine.
    spoil(&place);
    let wrong = place.run(&check_as_json);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    let wrong = wrong.json();
    assert_eq!(
        (&wrong["holds"], &wrong["slower_machine"]),
        (&false.into(), &false.into())
    );
}

/// The table says that its choices took half as long, and its defaults as long as they do.
#[test]
fn a_check_of_algorithms_that_became_slower_fails() {
    let place = place();
    let mut table = Table::load(&place.path(TABLE)).unwrap();
    let mut halved = 0;
    for entry in table.collectives.values_mut().flatten() {
        for point in &mut entry.measured {
            let rule = table::rule_at(&entry.rules, point.bytes).unwrap();
            if rule.candidate != Candidate::Default {
                let MeasuredPoint { bytes, seconds, .. } = *point;
                *point = MeasuredPoint::new(bytes, seconds / 2.0, point.default_seconds);
                halved += 1;
            }
        }
    }
    assert!(halved > 2, "{halved}");
    table.save(&place.path(TABLE)).unwrap();
    let check = ["check", TABLE, "--probes", "0", "--json"];
    let ran = place.run(&check);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("this algorithm became slower"), "{ran:?}");
    assert_eq!(ran.json()["slower_machine"], false);
}

#[test]
fn a_table_for_another_order_of_ranks_is_not_judged() {
    let place = place();
    let cyclic = CAMPAIGN.replace("seed: 7", "seed: 7, placement: cyclic");
    place.write("cyclic.yaml", cyclic);
    for verb in ["check", "validate"] {
        let args = [verb, TABLE, "--campaign", "cyclic.yaml", "--probes", "1"];
        let refused = place.run(&[&args[..], &["--any-version"]].concat());
        assert_eq!(refused.code, Some(3), "{refused:?}");
        assert!(
            refused
                .err
                .contains("on 4x4, but the launches placed them in cyclic order"),
            "{}",
            refused.err
        );
    }
}

#[test]
fn without_the_tables_library_a_check_gives_no_answer() {
    let place = made::place();
    place
        .run(&["decide", ".colltune/made.db", "--output", "table.yaml"])
        .good();
    // All of its launches fail.
    for verb in ["check", "validate"] {
        let ran = place
            .run(&[verb, "table.yaml"])
            .bad(3, &["the launcher exited with code 1"]);
        // The error names a log, which exists.
        let (_, log) = ran.err.split_once("log: DIR/").unwrap();
        assert!(place.path(log.trim()).exists(), "{log}");
    }
    place.add_mpirun_of("4.1.6", "exit 1");
    place.run(&["check", "table.yaml"]).bad(3, &["4.1.4"]);
    fs::remove_file(place.path("bin/mpirun")).unwrap();
    place.run(&["check", "table.yaml"]).bad(3, &["MPI"]);
}

/// The command accepts the campaign of the example job.
#[test]
fn the_example_of_a_job_is_accepted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../jobs/check.yml");
    let job = fs::read_to_string(path).unwrap();
    let (_, script) = job.split_once("- colltune ").unwrap();
    let (script, _) = script.split_once("allow_failure").unwrap();
    let args: Vec<&str> = script.split_whitespace().collect();
    assert_eq!(args[..2], ["check", "tables/night.yaml"]);
    // Only the table is missing.
    Place::new()
        .run(&args)
        .bad(2, &["cannot read", "tables/night.yaml"]);
}

#[test]
fn a_good_table_is_validated() {
    let place = place();
    let before = place.read(TABLE);
    let ran = place.run(&[
        "validate",
        TABLE,
        "--repair",
        "--seed",
        "11",
        "--markdown",
        "valid.md",
        "--json",
    ]);
    let found = ended(&place, ran, 0).json();
    assert_eq!(found["slower"], 0, "{found}");
    assert_eq!(found["via"], "driver");
    assert!(found["faster"].as_u64().unwrap() > 2, "{found}");
    assert!(found["geometric_mean"].as_f64().unwrap() > 1.1, "{found}");
    let points = found["points"].as_array().unwrap();
    assert!(
        points.iter().any(|point| point["place"] == "threshold"),
        "{found}"
    );
    let probes = points.iter().filter(|point| point["place"] == "probe");
    assert_eq!((probes.count(), &found["seed"]), (8, &11.into()), "{found}");
    for point in points {
        assert_ne!(point["chosen"], "default");
        assert!(
            point["interval"]["low"].as_f64() <= point["speedup"].as_f64(),
            "{point}"
        );
    }
    let markdown = place.read("valid.md");
    assert!(markdown.contains("in geometric mean over"), "{markdown}");
    assert!(markdown.contains(" (probe) | "), "{markdown}");
    assert!(markdown.contains("`--seed 11` draw the same"), "{markdown}");
    // There is nothing to repair.
    assert_eq!(place.read(TABLE), before);
    let none = place.run(&["validate", TABLE, "--deployment", "library"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.err.contains("`native:*`"), "{}", none.err);
}

/// Asserts that no verb has the spoilt rule in force.
#[track_caller]
fn assert_refuted(place: &Place) {
    const WHY: &str = "validate found it slower or failing";
    let call = ["-c", "bcast", "--shape", "4x4", "-b", "1M"];
    for verb in ["lookup", "explain"] {
        let asked = [&[verb, TABLE], &call[..]].concat();
        let told = ended(place, place.run(&asked), 0).out;
        assert!(
            told.starts_with("bcast/linear\n") && told.contains(&format!("deployed    no: {WHY}")),
            "{told}"
        );
        let answer = ended(place, place.run(&[&asked[..], &["--json"]].concat()), 0).json();
        let decision = answer.get("decision").unwrap_or(&answer);
        assert_eq!(
            (&decision["deployed"], &decision["reason"]),
            (&false.into(), &WHY.into())
        );
    }
    let report = place.run(&["report", TABLE]).out;
    assert!(report.contains(&format!("no: {WHY}")), "{report}");
    let header = place.run(&["export", TABLE, "--format", "c-header", "--unconfirmed"]);
    assert_eq!(header.code, Some(0), "{header:?}");
    assert!(
        !header.out.contains("LINEAR") && !header.out.contains("linear"),
        "{}",
        header.out
    );
    let left = "found slower or failing by `colltune validate`";
    assert!(header.err.contains(left), "{}", header.err);
}

/// A table that cannot be written, such as that of a deployed version, has its verdicts in its store.
#[test]
fn verdicts_in_the_store_alone_are_in_force_too() {
    let place = place();
    spoil(&place);
    let before = place.read(TABLE);
    let validate = ["validate", TABLE, "--probes", "0"];
    let ran = place.run(&[&validate[..], &["--keep-table"]].concat());
    ended(&place, ran, 1);
    assert_eq!(place.read(TABLE), before);
    assert_refuted(&place);
    assert_eq!(place.read(TABLE), before);

    fs::set_permissions(place.path(TABLE), fs::Permissions::from_mode(0o444)).unwrap();
    let read_only = place.run(&validate);
    assert_eq!(read_only.code, Some(1), "{read_only:?}");
    let warning = "tables/small.yaml cannot be written and does not keep the verdicts";
    assert!(read_only.err.contains(warning), "{}", read_only.err);
    assert_eq!(place.read(TABLE), before);
}

#[test]
fn rules_slower_than_the_default_are_found_and_turned_back() {
    let place = place();
    spoil(&place);
    let before = place.read(TABLE);
    let told = ended(&place, place.run(&["validate", TABLE, "--probes", "0"]), 1).out;
    assert!(
        !told.contains("probe")
            && told.contains("SLOWER")
            && told.contains("3 significantly slower;"),
        "{told}"
    );
    // The table's rules stay, and no verb uses those that are slower.
    let judged = place.read(TABLE);
    let without_verdicts = judged.split("# Findings of").next().unwrap();
    assert_eq!(without_verdicts, before);
    assert!(
        told.contains(&format!(" and in {TABLE}.")) && told.contains("`--repair`"),
        "{told}"
    );
    assert_refuted(&place);
    // What is not in force is not checked, but validated again, without further lines in the table.
    let checked = place.run(&["check", TABLE, "--probes", "0"]);
    assert!(
        checked.out.contains("bcast 4x4 1M") && !checked.out.contains("bcast/linear"),
        "{checked:?}"
    );
    ended(&place, place.run(&["validate", TABLE, "--probes", "0"]), 1);
    assert_eq!(place.read(TABLE).lines().count(), judged.lines().count());
    let in_force = ["validate", TABLE, "--probes", "0", "--keep-table"];
    let told_in_force = ended(&place, place.run(&in_force), 0).out;
    assert!(!told_in_force.contains("bcast/linear"), "{told_in_force}");

    let repaired = ended(
        &place,
        place.run(&["validate", TABLE, "--seed", "11", "--repair"]),
        0,
    )
    .out;
    let change =
        "bcast, 4x4, block order, from 30000 bytes: bcast/linear is not chosen from 30000 bytes on";
    assert!(
        repaired.contains(&format!("Turned back to the default: {change}.")),
        "{repaired}"
    );
    let table = Table::load(&place.path(TABLE)).unwrap();
    let last = table.collectives[&schedule::Collective::Bcast][0]
        .rules
        .last()
        .unwrap();
    assert_eq!(last.candidate, Candidate::Default);
    assert!(
        place
            .read(TABLE)
            .contains("Turned back to the default because `colltune validate` found")
    );
    let told_after = ended(&place, place.run(&["validate", TABLE, "--seed", "11"]), 0).out;
    assert!(!told_after.contains("significantly slower"), "{told_after}");
}

/// Changes the store so that a linear broadcast of long messages seems to take hardly any time.
fn doctor(place: &Place) {
    let store = rusqlite::Connection::open(place.path(STORE)).unwrap();
    store.execute_batch("DROP TRIGGER sample_update").unwrap();
    let of_linear = "SELECT sample.rowid, length(seconds) / 8
        FROM sample JOIN task ON task.launch = sample.launch AND task.number = sample.task
        JOIN subject ON subject.id = task.subject JOIN candidate ON candidate.id = sample.candidate
        WHERE subject.definition LIKE '%bcast%' AND candidate.definition LIKE '%bcast/linear%'
            AND json_extract(subject.definition, '$.cell.bytes') > 60000";
    let mut query = store.prepare(of_linear).unwrap();
    let rows = query.query_map([], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)? as usize))
    });
    let rows: Vec<(i64, usize)> = rows.unwrap().map(Result::unwrap).collect();
    assert!(rows.len() >= 12, "{rows:?}");
    for (row, repetitions) in rows {
        let seconds = 1e-7_f64.to_le_bytes().repeat(repetitions);
        let update = "UPDATE sample SET seconds = ?1 WHERE rowid = ?2";
        store
            .execute(update, rusqlite::params![seconds, row])
            .unwrap();
    }
}

const STORE: &str = ".colltune/small.db";

fn choices(place: &Place) -> Vec<(u64, String)> {
    let table = Table::load(&place.path(TABLE)).unwrap();
    let entry = &table.collectives[&schedule::Collective::Bcast][0];
    let rules = entry.rules.iter();
    rules
        .map(|rule| (rule.from_bytes, rule.candidate.id().to_owned()))
        .collect()
}

fn has_linear(place: &Place) -> bool {
    choices(place).iter().any(|(_, id)| id == "linear")
}

/// A place with a store and a table in which a slow algorithm seems fast.
fn deceived() -> Place {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines");
    place.write(
        "fat-tree.yaml",
        fs::read(root.join("fat-tree.yaml")).unwrap(),
    );
    let campaign = CAMPAIGN.replace("slice: 20ms", "slice: 20ms, racing: false");
    place.write("campaign.yaml", campaign);
    for _ in 0..2 {
        let tuned = place.run(&["tune", "campaign.yaml"]);
        assert_eq!(tuned.code, Some(0), "{tuned:?}");
        if !has_linear(&place) {
            doctor(&place);
        }
    }
    assert!(has_linear(&place), "{:?}", choices(&place));
    place
}

#[test]
fn repaired_rules_stay_repaired_when_the_table_is_made_again() {
    let place = deceived();
    let before = place.read(TABLE);
    place.write("tables/before.yaml", &before);
    let told = ended(
        &place,
        place.run(&["validate", TABLE, "--seed", "11", "--repair"]),
        0,
    )
    .out;
    assert!(
        told.contains("The verdicts are kept in .colltune/small.db."),
        "{told}"
    );
    let repaired = place.read(TABLE);
    assert!(
        !has_linear(&place) && repaired.contains("Turned back to the default"),
        "{repaired}"
    );
    assert!(!repaired.contains("verdicts:"), "{repaired}");
    // Deciding from the store again gives the same table.
    let tuned = place.run(&["tune", "campaign.yaml"]);
    assert_eq!(tuned.code, Some(0), "{tuned:?}");
    assert_eq!(place.read(TABLE), repaired);
    place.run(&["decide", STORE, "--output", TABLE]).good();
    assert_eq!(place.read(TABLE), repaired);

    // For a change back to the default no worth is given.
    let diff = place.run(&["diff", "tables/before.yaml", TABLE]).good().out;
    assert!(diff.contains("default (turned back)"), "{diff}");
    assert!(diff.contains(" expected before"), "{diff}");
    assert!(
        diff.contains(
            "the expected speed-up over the default is higher in 0, lower in 0. Turned back to the default: 1."
        ),
        "{diff}"
    );
    assert!(!diff.contains("  0."), "{diff}");
    let json = place
        .run(&["diff", "tables/before.yaml", TABLE, "--json"])
        .good()
        .json();
    assert!(json["changes"][0]["worth"].is_null(), "{json}");
}

#[test]
fn without_a_store_verdicts_stay_in_the_tables_file() {
    let place = deceived();
    fs::rename(place.path(".colltune"), place.path("away")).unwrap();
    let before = place.read(TABLE);
    let validate = [
        "validate",
        TABLE,
        "--campaign",
        "campaign.yaml",
        "--seed",
        "11",
    ];
    let ran = place.run(&[&validate[..], &["--keep-table"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(place.read(TABLE), before);
    let repairing = place.run(&[&validate[..], &["--repair"]].concat());
    assert_eq!(repairing.code, Some(0), "{repairing:?}");
    assert!(
        repairing
            .out
            .contains("The verdicts are kept in tables/small.yaml."),
        "{}",
        repairing.out
    );
    let repaired = place.read(TABLE);
    assert!(
        repaired.contains("\nverdicts:\n") && !has_linear(&place),
        "{repaired}"
    );

    fs::remove_dir_all(place.path(".colltune")).unwrap();
    fs::rename(place.path("away"), place.path(".colltune")).unwrap();
    place.run(&["decide", STORE, "--output", TABLE]).good();
    assert_eq!(place.read(TABLE), repaired);
    let tuned = place.run(&["tune", "campaign.yaml"]);
    assert_eq!(tuned.code, Some(0), "{tuned:?}");
    assert_eq!(place.read(TABLE), repaired);
}

#[test]
fn rules_that_validate_finds_faster_are_confirmed() {
    let place = place();
    let before = place.read(TABLE);
    assert!(!before.contains("confirmed: true"), "{before}");
    let few = ["validate", TABLE, "--confirm", "--seed", "11"];
    let refused = place.run(&[&few[..], &["--probes", "0"]].concat());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--probes 0"), "{}", refused.err);
    let ran = place.run(&[&few[..], &["--launches", "3"]].concat());
    let told = ended(&place, ran, 0).out;
    assert!(
        told.contains("too few launches: valid times of both in 3 launches, needed in 6")
            && told.contains("measure in more with `--launches`")
            && !told.contains("Confirmed:")
            && !told.contains("The verdicts are kept"),
        "{told}"
    );
    let as_json = place.run(&[&few[..], &["--launches", "3", "--json"]].concat());
    let found = ended(&place, as_json, 0).json();
    let why = "valid times of both in 3 launches, needed in 6";
    assert_eq!(
        (&found["points"][0]["reason"], &found["kept"]),
        (&why.into(), &serde_json::Value::Null)
    );
    assert_eq!(place.read(TABLE), before);

    let ran_enough = place.run(&[&few[..], &["--json"]].concat());
    let found_enough = ended(&place, ran_enough, 0).json();
    let confirmed = found_enough["confirmed"].as_array().unwrap();
    assert!(!confirmed.is_empty(), "{found_enough}");
    assert_eq!(found_enough["kept"], STORE);
    let table = Table::load(&place.path(TABLE)).unwrap();
    let all = table.entries().flat_map(|entry| &entry.rules);
    let rules: Vec<&Rule> = all.filter(|rule| rule.confirmed).collect();
    assert_eq!(rules.len(), confirmed.len());
    for rule in rules {
        assert!(rule.speedup.unwrap() > 1.0 && rule.confidence == table::Confidence::Medium);
    }
    // Beyond the largest measured size nothing is confirmed.
    let deployed = table.deployed_by(table::Policy::default()).0;
    for entry in deployed.entries() {
        assert_eq!(entry.rules.last().unwrap().candidate, Candidate::Default);
    }
    let decision = place
        .run(&[
            "lookup", TABLE, "-c", "bcast", "-n", "4", "-k", "4", "-b", "1M", "--json",
        ])
        .json();
    assert_eq!(decision["confirmed"], true, "{decision}");
}
