//! The command, without any library.

use super::{entry, write_table};
use crate::run::Place;

/// A table of an Open MPI with one rule of its own and one of colltune.
fn place(version: &str) -> Place {
    let place = Place::new();
    let rule = vec![(0, "'native:bcast/binomial'".to_owned())];
    let of_library = entry(2, None, &rule);
    let collectives = format!(
        "  bcast:\n    message_size: bytes of one rank's vector\n    shapes:\n{of_library}      - nodes: 1\n        \
         ppn: 4\n        rules:\n          - {{from: 0, candidate: bcast/chain, confidence: high, confirmed: true}}\n"
    );
    write_table(&place, "openmpi", version, &collectives);
    place
}

#[test]
fn export_prints_or_writes_the_same_and_warns() {
    let place = place("4.1.4");
    let printed = place.run(&["export", "tables/night.yaml", "--format", "openmpi"]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    assert!(
        printed.out.contains("\n0 6 0 0 # binomial\n"),
        "{}",
        printed.out
    );
    assert_eq!(
        printed.err,
        "warning: Left out: 1 rule that only colltune can carry out, where the table has no decision \
         for the library's own settings; the library decides there.\n\
         warning: The library does not distinguish placements of as many ranks, so rules also apply to \
         placements that were not measured: those of 1x2 to all of 2 ranks, such as 2x1.\n"
    );
    let write = [
        "export",
        "tables/night.yaml",
        "--format",
        "openmpi",
        "--output",
        "site/rules.conf",
    ];
    let written = place.run(&write);
    assert_eq!(
        written.out, "site/rules.conf is written\n",
        "{}",
        written.err
    );
    assert_eq!(place.read("site/rules.conf"), printed.out);
    assert!(!place.path("site/rules.conf.txt").exists());
}

/// Warnings about the table's rules would be about a file that has none of them.
#[test]
fn a_stock_file_warns_only_that_it_has_no_rules() {
    let place = place("4.1.4");
    let table = place.read("tables/night.yaml");
    let warned = table.replacen("warnings: []", "warnings: [the machine was busy]", 1);
    assert_ne!(warned, table);
    place.write("tables/night.yaml", &warned);
    let stock = [
        "export",
        "tables/night.yaml",
        "--format",
        "openmpi",
        "--library-version",
        "5.0.3",
        "--stock",
    ];
    let printed = place.run(&stock);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    assert_eq!(
        printed.err,
        "warning: The table was measured with openmpi-4.1.4, so none of its rules is written: openmpi-5.0.3 \
         decides as without this file.\n"
    );
    let with_rules = place.run(&["export", "tables/night.yaml", "--format", "openmpi"]);
    assert!(
        with_rules.err.contains("the machine was busy"),
        "{}",
        with_rules.err
    );
}

/// JSON has no comments.
#[test]
fn the_instructions_of_a_file_without_comments_are_beside_it() {
    let place = place("6.0.1");
    let args = [
        "export",
        "tables/night.yaml",
        "--format",
        "openmpi-json",
        "--output",
        "rules.json",
    ];
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let said = "rules.json is written\nrules.json.txt says how to activate it\n";
    assert_eq!(ran.out, said);
    let json: serde_json::Value = serde_json::from_str(&place.read("rules.json")).unwrap();
    assert_eq!(
        json["collectives"]["bcast"][0]["rules"][0]["alg"],
        "binomial"
    );
    let companion = place.read("rules.json.txt");
    assert!(
        companion.contains("coll_tuned_dynamic_rules_filename"),
        "{companion}"
    );
}

#[test]
fn tables_that_cannot_be_exported_are_refused() {
    let place = place("4.1.4");
    let check = |args: &[&str], parts: &[&str]| {
        let before = place.files();
        let all = [&["export", "tables/night.yaml", "--output", "out"], args].concat();
        place.run(&all).bad(2, parts);
        assert!(place.files() == before, "{args:?} has changed files");
    };
    check(&["--format", "xml"], &["xml", "openmpi", "c-header"]);
    check(
        &["--format", "openmpi-json"],
        &["known for Open MPI 6.0, not for 4.1.4", "--library-version"],
    );
    check(
        &["--format", "mpich"],
        &[
            "measured with openmpi-4.1.4 and says nothing about MPICH",
            "--stock",
        ],
    );
    check(
        &["--format", "mpich", "--stock"],
        &["the table is about openmpi-4.1.4", "--library-version"],
    );
    for other in [
        &["--format", "mpich", "--library-version", "4.0.2"],
        &["--format", "openmpi", "--library-version", "5.0.3"],
    ] {
        check(
            other,
            &[
                "measured with openmpi-4.1.4 and says nothing about",
                "--stock",
            ],
        );
    }
    check(
        &["--format", "openmpi", "--stock"],
        &["`--stock` does not apply", "measured with openmpi-4.1.4"],
    );
    check(
        &["--format", "c-header", "--stock"],
        &["`--stock` does not apply", "for any library"],
    );
    check(
        &["--format", "mpich", "--library-version", "3.4.1", "--stock"],
        &["known for MPICH 4.0 to 4.3 and 5.0, not for 3.4.1"],
    );
    check(
        &["--format", "mpich", "--library-version", "4.3.9", "--stock"],
        &[
            "the decisions of mpich-4.3.9 itself are not known",
            "--library",
        ],
    );
    let unknown = [
        "--format",
        "mpich",
        "--library-version",
        "4.3.9",
        "--library",
        "tables/night.yaml",
        "--stock",
    ];
    check(&unknown, &["tables/night.yaml is not of this release"]);
}
