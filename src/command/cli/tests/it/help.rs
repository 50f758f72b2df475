//! The help of the command line, and what is generated from it.

use std::fs;
use std::path::Path;

use crate::run::Place;

const VERBS: &[&str] = &[
    "doctor",
    "audit",
    "init",
    "plan",
    "tune",
    "measure",
    "jobs",
    "cancel",
    "fit",
    "decide",
    "diff",
    "evaluate",
    "import",
    "report",
    "samples",
    "lookup",
    "explain",
    "export",
    "deploy",
    "validate",
    "check",
    "run",
    "record",
    "profile",
    "gain",
    "serve",
    "agent",
    "pull",
    "remote",
    "backup",
    "restore",
    "schedule",
    "schema",
    "simulate",
    "completions",
    "man",
];

/// Verbs below verbs.
const BELOW: &[(&str, &[&str])] = &[
    ("schedule", &["list", "show", "verify", "export"]),
    (
        "remote",
        &[
            "machines",
            "submit",
            "tasks",
            "task",
            "log",
            "cancel",
            "watch",
            "release",
            "rollback",
            "withdraw",
            "channels",
            "schedules",
            "schedule",
            "pause",
            "resume",
            "unschedule",
            "findings",
            "finding",
            "triage",
            "lookup",
            "tokens",
            "webhooks",
        ],
    ),
];

fn below() -> impl Iterator<Item = [&'static str; 2]> {
    let verbs = BELOW.iter();
    verbs.flat_map(|(verb, below)| below.iter().map(|name| [*verb, *name]))
}

#[test]
fn the_help_of_every_verb_has_an_example() {
    let place = Place::new();
    let whole = place.run(&["--help"]).good().out;
    let verbs = VERBS.iter().map(|verb| vec![*verb]);
    let below = below().map(|words| words.to_vec());
    let mut reference = whole.clone();
    for mut args in verbs.chain(below) {
        let name = args.join(" ");
        args.push("--help");
        let help = place.run(&args).good().out;
        let (_, examples) = help.split_once("Example").unwrap();
        assert!(examples.contains(&format!("colltune {name}")), "{help}");
        reference += &format!("\n===== {name}\n\n{help}");
    }
    insta::assert_snapshot!(reference);
    for verb in VERBS {
        assert!(whole.contains(&format!("\n  {verb} ")), "{verb}");
    }
}

#[test]
fn the_readme_and_the_reference_have_a_row_for_every_verb() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for document in ["README.md", "docs/reference.md"] {
        let text = fs::read_to_string(root.join(document)).expect("readable");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        for verb in VERBS {
            let names = [format!("`{verb}`"), format!("`{verb} ")];
            let is_named = |row: &&str| names.iter().any(|name| row.contains(name));
            assert!(rows.iter().any(is_named), "{verb} in {document}");
        }
    }
}

#[test]
fn completions_know_every_verb() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = place.run(&["completions", shell]).good().out;
        let below = below().map(|[_, verb]| verb);
        for verb in VERBS.iter().copied().chain(below) {
            assert!(text.contains(verb), "{verb} in {shell}");
        }
    }
}

#[test]
fn the_manual_page_has_a_section_for_every_verb() {
    let page = Place::new().run(&["man"]).good().out;
    assert!(page.contains(".TH colltune 1"), "{page}");
    for verb in VERBS {
        let section = format!("\n.SH COLLTUNE {}\n", verb.to_uppercase());
        assert!(page.contains(&section), "{section}");
    }
    for [above, verb] in below() {
        let name = format!("{above} {verb}").to_uppercase();
        let section = format!("\n.SH COLLTUNE {name}\n");
        assert!(page.contains(&section), "{section}");
    }
    // It has the options of verbs too, not only the common ones.
    assert!(page.contains("retry\\-failed"), "{page}");
}

#[test]
fn errors_of_usage_name_the_right_usage() {
    let place = Place::new();
    for (args, part) in [
        (&["tuen"][..], "tune"),
        (&["tune"], "CAMPAIGN.yaml"),
        (
            &["lookup", "t.yaml", "--collective", "alreduce"],
            "allreduce",
        ),
        (&["fit", "a.db", "--library", "openmpi"], "openmpi-4.1.4"),
        (&["schedule", "verify"], "--all"),
        (&["schedule", "verify", "--all", "--ranks", "9..3"], "1..64"),
        (&["report", "a.db", "--format", "pdf"], "md"),
    ] {
        place.run(args).bad(2, &[part]);
    }
}
