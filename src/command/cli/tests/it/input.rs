//! Mistakes in arguments and files: the error says what is wrong and where, and no file changes.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use crate::answers;
use crate::made;
use crate::run::Place;

/// Runs a command that must exit with 2 and change no file.
#[track_caller]
fn check(place: &Place, args: &[&str], parts: &[&str]) {
    let before = place.files();
    place.run(args).bad(2, parts);
    assert!(place.files() == before, "{args:?} has changed files");
}

#[test]
fn ranks_are_a_number_or_a_range_with_both_ends() {
    let place = Place::new();
    let verify = |ranks: &str| {
        let name = "bcast/binomial";
        place.run(&["schedule", "verify", name, "--json", "--ranks", ranks])
    };
    let shapes = |ranks| verify(ranks).good().json()[0]["shapes"].as_u64().unwrap();
    assert_eq!(shapes("2..3"), shapes("2") + shapes("3"));
    assert_eq!(shapes("3 .. 3"), shapes("3"));
    for ranks in ["0", "0..4", "5..4", "1..", "1..=4", "many"] {
        verify(ranks).bad(2, &["write a number of ranks, or a range"]);
    }
}

#[test]
fn libraries_have_a_name_and_a_version() {
    let place = made::place();
    let fit = |library: &str| {
        let library = format!("--library={library}");
        place.run(&["fit", ".colltune/made.db", &library])
    };
    for library in ["mpich-4.1.4", "openmpi-4.2.0-rc1"] {
        fit(library).bad(2, &["no measurements of", library]);
    }
    for library in ["", "openmpi", "-4.1", "openmpi-"] {
        fit(library).bad(2, &["write name and version, as in openmpi-4.1.4"]);
    }
}

#[test]
fn libraries_are_chosen_with_or_without_a_version() {
    let place = made::place();
    let plan = |library| place.run(&["plan", "campaign.yaml", "--json", "--library", library]);
    for library in ["openmpi", "openmpi-4.1.4"] {
        assert_eq!(plan(library).good().json()["library"]["version"], "4.1.4");
    }
    let refused = |library| place.run(&["plan", "campaign.yaml", "--library", library]);
    refused("openmpi-4.2.0").bad(3, &["openmpi 4.2.0 is not installed"]);
    refused("mpich").bad(3, &["mpich is not installed"]);
    refused("openmpi-").bad(2, &["write name and version"]);
    refused("other").bad(2, &["with or without a version as in openmpi-4.1.4"]);
}

#[test]
fn campaigns_are_strict() {
    for (line, parts) in [
        (
            "colectives: [bcast]",
            &[
                "unknown",
                "colectives",
                "campaign.yaml:1:1",
                "`collectives`",
            ][..],
        ),
        ("launches: many", &["launches", "campaign.yaml:1:11"]),
        ("shapes: [2x2]", &["2x2", "campaign.yaml:1:"]),
        ("sizes: 8..4 apples", &["sizes", "campaign.yaml:1:8"]),
    ] {
        let place = Place::with_mpirun("exit 1");
        place.write("campaign.yaml", format!("{line}\nname: made\n"));
        for verb in ["tune", "measure", "plan"] {
            check(&place, &[verb, "campaign.yaml"], parts);
        }
    }
}

#[test]
fn a_campaign_error_is_shown_with_its_line() {
    let place = Place::with_mpirun("exit 1");
    place.write("campaign.yaml", "name: made\nshapes: [1x2, 2x2]\n");
    insta::assert_snapshot!(place.run(&["tune", "campaign.yaml"]).err);
}

#[test]
fn the_campaign_is_absent() {
    let place = Place::with_mpirun("exit 1");
    check(
        &place,
        &["tune", "none.yaml"],
        &["cannot read the campaign", "none.yaml", "colltune init"],
    );
}

/// Runs every verb that reads a store.
fn check_store(place: &Place, parts: &[&str]) {
    let store = ".colltune/made.db";
    for args in [
        &["fit", store][..],
        &["decide", store, "--output", "tables/made.yaml"],
        &["report", store, "--output", "reports/made.md"],
    ] {
        check(place, args, parts);
    }
}

#[test]
fn the_store_is_absent() {
    check_store(
        &Place::new(),
        &["there is no store at .colltune/made.db", "colltune tune"],
    );
}

#[test]
fn the_store_is_something_else() {
    let place = made::place();
    place.write(".colltune/made.db", "a letter to my aunt\n".repeat(20));
    check_store(&place, &["is not a colltune store", "left as it is"]);
    check_campaign_verbs(&place, &["is not a colltune store"]);
}

#[test]
fn the_store_is_newer() {
    let place = made::place();
    // SQLite's user version, <https://www.sqlite.org/fileformat.html>.
    overwrite(&place, 60, &99u32.to_be_bytes());
    check_store(&place, &["has store format 99", "knows formats up to"]);
    check_campaign_verbs(&place, &["has store format 99"]);
}

#[test]
fn the_store_is_damaged() {
    let place = made::place();
    let length = fs::metadata(place.path(".colltune/made.db")).unwrap().len();
    // Damages all pages but the first, which identifies the file as a store.
    overwrite(
        &place,
        4096,
        &vec![0xA5; usize::try_from(length - 4096).unwrap()],
    );
    check_store(&place, &["is damaged", "it was left as it is"]);
    check_campaign_verbs(&place, &["is damaged"]);
}

/// The verbs that continue a store do not change it either. They may leave their lock.
fn check_campaign_verbs(place: &Place, parts: &[&str]) {
    let store = fs::read(place.path(".colltune/made.db")).unwrap();
    let old = made::old_table();
    place.write("tables/made.yaml", &old);
    for args in [
        &["plan", "campaign.yaml"][..],
        &["tune", "campaign.yaml"],
        &["measure", "campaign.yaml", "--retry-failed"],
    ] {
        place.run(args).bad(2, parts);
    }
    assert!(fs::read(place.path(".colltune/made.db")).unwrap() == store);
    assert_eq!(place.read("tables/made.yaml"), old);
}

fn overwrite(place: &Place, offset: u64, bytes: &[u8]) {
    let path = place.path(".colltune/made.db");
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

#[test]
fn outputs_that_cannot_be_written() {
    let place = made::place();
    place.write("file", "in the way");
    // Root may write to any folder, but not below a file nor into /proc.
    for folder in ["file", "/proc"] {
        let table = format!("{folder}/made.yaml");
        let report = format!("{folder}/made.md");
        check(
            &place,
            &["decide", ".colltune/made.db", "-o", &table],
            &["cannot write", &table],
        );
        check(
            &place,
            &["report", ".colltune/made.db", "-o", &report],
            &["cannot", &report],
        );
        check(&place, &["init", "-o", &table], &["cannot", &table]);
    }
}

#[test]
fn tune_checks_before_measuring_that_it_can_write() {
    for (key, value) in [
        ("table", "file/made.yaml"),
        ("report", "file/made.md"),
        ("store", "file/made.db"),
    ] {
        let place = Place::with_mpirun("exit 1");
        place.write("file", "in the way");
        place.write(
            "campaign.yaml",
            format!("{}output: {{{key}: {value}}}\n", made::CAMPAIGN),
        );
        place
            .run(&["tune", "campaign.yaml"])
            .bad(2, &["cannot", "file"]);
        assert!(!place.path(".colltune").exists(), "{key}");
        assert_eq!(place.read("file"), "in the way");
    }
}

#[test]
fn a_table_that_names_an_unknown_algorithm() {
    let place = made::place();
    place
        .run(&["decide", ".colltune/made.db", "-o", "t.yaml"])
        .good();
    let table = place
        .read("t.yaml")
        .replace("allreduce/dual_root", "allreduce/dual_rot");
    place.write("t.yaml", table);
    let question = ["t.yaml", "-c", "allreduce", "-n", "1", "-k", "2", "-b", "8"];
    let parts = ["allreduce/dual_rot", "--> t.yaml:", "allreduce/dual_root"];
    check(&place, &[&["lookup"], &question[..]].concat(), &parts);
    check(&place, &[&["explain"], &question[..]].concat(), &parts);
    check(&place, &["report", "t.yaml"], &parts);
}

#[test]
fn the_table_is_absent() {
    let args = [
        "lookup", "t.yaml", "-c", "bcast", "-n", "1", "-k", "2", "-b", "8",
    ];
    check(&Place::new(), &args, &["cannot read the table t.yaml"]);
}

#[test]
fn an_error_about_a_campaign_or_table_in_place_of_a_store_names_its_store() {
    let place = made::place();
    place.write("campaign.yaml", made::CAMPAIGN);
    place
        .run(&["decide", ".colltune/made.db", "-o", "table.yaml"])
        .good();
    for (file, part) in [
        (
            "campaign.yaml",
            "campaign.yaml is a campaign; its store is .colltune/made.db",
        ),
        (
            "table.yaml",
            "table.yaml is a table; it was made from the store .colltune/made.db",
        ),
    ] {
        for verb in ["evaluate", "fit", "decide"] {
            place
                .run(&[verb, file])
                .bad(2, &["not a colltune store", part]);
        }
    }
}

#[test]
fn an_error_about_a_file_of_another_kind_names_both() {
    let place = made::place();
    place.write("c.yaml", made::CAMPAIGN);
    place
        .run(&["decide", ".colltune/made.db", "-o", "t.yaml"])
        .good();
    let simulate = "simulate -c bcast --ranks 2 -b 8 -m";
    let lookup = "lookup c.yaml -c bcast -n 1 -k 2 -b 8";
    for (line, part) in [
        ("plan t.yaml".to_owned(), "a campaign"),
        ("measure t.yaml".to_owned(), "a campaign"),
        (format!("{simulate} t.yaml"), "a machine"),
    ] {
        let message = format!("t.yaml is a decision table, where {part} is expected");
        place.run_line(&line).bad(2, &[&message, "help: "]);
    }
    for (line, part) in [
        (format!("{simulate} c.yaml"), "a machine"),
        (lookup.to_owned(), "a decision table"),
    ] {
        let message = format!("c.yaml is a campaign, where {part} is expected");
        place.run_line(&line).bad(2, &[&message, "help: "]);
    }
}

#[test]
fn an_error_about_a_file_that_cannot_be_read_has_a_remedy() {
    let place = Place::new();
    place.write("binary", b"\xff\n");
    std::fs::create_dir(place.path("folder")).unwrap();
    for (file, remedy) in [
        ("absent", "help: check the path"),
        ("binary", "help: check that this is the right file"),
        ("folder", "help: name a file in this folder"),
    ] {
        for line in [
            format!("check {file}"),
            format!("lookup {file} -c bcast -n 1 -k 2 -b 8"),
        ] {
            place.run_line(&line).bad(2, &[remedy]);
        }
    }
    for line in [
        "import absent --format csv --store s.db",
        "backup absent target",
    ] {
        place.run_line(line).bad(2, &["help: check the path"]);
    }
}

#[test]
fn an_error_about_a_library_without_measurements_names_those_with_some() {
    made::place()
        .run_line("decide .colltune/made.db --library mpich-4")
        .bad(2, &["no measurements of mpich-4", "openmpi-4.1.4"]);
}

#[test]
fn an_error_as_json_has_its_kind() {
    let place = Place::new();
    for (args, code, kind) in [
        (&["fit", "absent.db", "--json"][..], 2, "input"),
        (&["plan", "campaign.yaml", "--json"], 3, "environment"),
        (&["plan", "--no-such-option", "--json"], 2, "input"),
        (&["lookup", "table.yaml", "--json"], 2, "input"),
    ] {
        place.write("campaign.yaml", made::CAMPAIGN);
        let ran = place.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{ran:?}");
        answers::fits(&["error"], &serde_json::from_str(&ran.err).unwrap());
        let error: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!(error["error"]["kind"], kind, "{ran:?}");
        assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
    }
    place.write("campaign.yaml", "name: x\nshapes: [1x2, 0x2]\n");
    let ran = place.run(&["plan", "campaign.yaml", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    let help = error["error"]["help"].as_str().unwrap();
    assert!(help.contains("both at least 1"), "{help}");
    assert_eq!(
        error["error"],
        serde_json::json!({
            "kind": "input", "message": "`0x2` is not a shape", "help": help,
            "file": "campaign.yaml", "line": 2, "column": 15, "field": "shapes[1]"
        })
    );
    let refused = place.run(&["simulate", "--no-such-option", "--json"]);
    let refusal: serde_json::Value = serde_json::from_str(&refused.err).unwrap();
    let message = "unexpected argument '--no-such-option' found";
    assert_eq!(refusal["error"]["message"], message, "{refused:?}");
    let usage = refusal["error"]["help"].as_str().unwrap();
    assert!(usage.contains("Usage: colltune simulate"), "{usage}");
    let printed = place.run(&["simulate", "--json", "--help"]);
    assert_eq!(
        (printed.code, printed.err.as_str()),
        (Some(0), ""),
        "{printed:?}"
    );
    assert!(
        printed.out.contains("Usage: colltune simulate"),
        "{printed:?}"
    );
}
