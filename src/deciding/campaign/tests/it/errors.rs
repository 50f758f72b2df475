//! Errors name the place of a mistake and a remedy.

use campaign::{Campaign, CampaignError};
use insta::assert_snapshot;
use proptest::prelude::*;
use strict_yaml::Diagnostic;

use crate::parse;

fn diagnostic(text: &str) -> Diagnostic {
    match parse(text) {
        Err(CampaignError::Invalid(diagnostic)) => *diagnostic,
        Err(error @ CampaignError::Read { .. }) => panic!("nothing was read: {error}"),
        Ok(_) => panic!("accepted: {text}"),
    }
}

/// `text` is refused at `LINE:COLUMN`, in `field`, with a message and a help that contain these.
pub(crate) fn check(text: &str, place: (usize, usize), field: &str, message: &str, help: &str) {
    let found = diagnostic(text);
    let context = format!("{text}\n---\n{found}");
    assert_eq!((found.line, found.column), place, "{context}");
    assert_eq!(found.field.to_string(), field, "{context}");
    assert!(found.message.contains(message), "{context}");
    assert!(found.help.contains(help), "{context}");
}

#[test]
fn keys_are_strict() {
    check(
        "name: x\nlanches: 6\n",
        (2, 1),
        "lanches",
        "unknown key `lanches`",
        "`launches`",
    );
    check(
        "name: x\nzzz: 6\n",
        (2, 1),
        "zzz",
        "unknown key `zzz`",
        "keys here: name, library",
    );
    check(
        "name: x\nstrategy: guidd\n",
        (2, 11),
        "strategy",
        "unknown strategy `guidd`",
        "`guided`",
    );
    check(
        "name: x\nrepetitions:\n  minimun: 5\n",
        (3, 3),
        "repetitions.minimun",
        "unknown key `minimun`",
        "`minimum`",
    );
    check(
        "name: x\nlibrary: {name: mpich, versoin: 4}\n",
        (2, 24),
        "library.versoin",
        "unknown key",
        "`version`",
    );
    check(
        "name: x\nlauncher: {local: {option: []}}\n",
        (2, 20),
        "launcher.local.option",
        "unknown key",
        "`options`",
    );
    check(
        "name: x\nlauncher: {lsf: {}}\n",
        (2, 12),
        "launcher.lsf",
        "unknown key",
        "local",
    );
    for launcher in ["{}", "{local: {}, simulated: {}}", "{slurm: {}, pbs: {}}"] {
        check(
            &format!("name: x\nlauncher: {launcher}\n"),
            (2, 11),
            "launcher",
            "exactly one launcher",
            "`local`, `slurm`, `pbs` or `simulated`",
        );
    }
    check(
        "name: x\nname: y\n",
        (2, 1),
        "name",
        "`name` is written twice",
        "keep one",
    );
    check(
        "name: x\noutput:\n  table: a\n  table: b\n",
        (4, 3),
        "output.table",
        "`table` is written twice",
        "keep one",
    );
    check("name: x\nsizes:\n", (2, 1), "sizes", "no value", "default");
    check(
        "launches: 6\n",
        (1, 1),
        "",
        "`name` is missing",
        "add `name: ...`",
    );
    check(
        "name: x\nshapes: [{nodes: 1}]\n",
        (2, 10),
        "shapes[0]",
        "`ppn` is missing",
        "ppn",
    );
}

#[test]
fn types_of_values_are_strict() {
    check("", (1, 1), "", "one mapping", "colltune init");
    check("- a\n- b\n", (1, 1), "", "one mapping", "colltune init");
    check(
        "name: x\ncandidates: [\"bcast/*\",\n  allreduce/dual-root]\n",
        (3, 3),
        "candidates[1]",
        "matches no algorithm",
        "allreduce/dual_root",
    );
    check(
        "name: x\n---\nname: y\n",
        (2, 1),
        "",
        "a second document is not allowed",
        "one document",
    );
    check(
        "name: x\nsizes: [8, 16\n",
        (2, 14),
        "sizes[2]",
        "not valid YAML",
        "brackets",
    );
    check(
        "name: x\nlaunches: six\n",
        (2, 11),
        "launches",
        "expected a whole number between 1 and 1000, found `six`",
        "a whole number between 1 and 1000",
    );
    check(
        "name: x\nlaunches: -1\n",
        (2, 11),
        "launches",
        "whole number",
        "",
    );
    check(
        "name: x\nlaunches: 1.5\n",
        (2, 11),
        "launches",
        "whole number",
        "",
    );
    check(
        "name: x\nconfidence: high\n",
        (2, 13),
        "confidence",
        "expected a number",
        "",
    );
    check(
        "name: x\nsizes: 1.5\n",
        (2, 8),
        "sizes",
        "a text or a whole number, found `1.5`",
        "",
    );
    check(
        "name: x\nparameters:\n  predicted: sometimes\n",
        (3, 14),
        "parameters.predicted",
        "expected a boolean",
        "",
    );
    check(
        "name: x\noutput: here\n",
        (2, 9),
        "output",
        "expected a mapping",
        "",
    );
    check(
        "name: x\nlibrary: {version: 4.10}\n",
        (2, 20),
        "library.version",
        "`4.10` as a number",
        "quote it: `version: \"4.10\"`",
    );
    check(
        "# ä\nname: x\nlibrary:\n  version: 5   # the newest\n",
        (4, 12),
        "library.version",
        "`5` as a number",
        "quote it: `version: \"5\"`",
    );
    check(
        "name: x\nlauncher: {local: {environment: {A: b, C: true}}}\n",
        (2, 43),
        "launcher.local.environment.C",
        "a text is expected",
        "quote it: `C: \"true\"`",
    );
    check(
        "name: x\nlauncher: {local: {options: [--x, 1.50]}}\n",
        (2, 35),
        "launcher.local.options[1]",
        "a text is expected",
        "quote it: `\"1.50\"`",
    );
    check(
        "name: x\nbudget: 1.5\n",
        (2, 9),
        "budget",
        "found `1.5`",
        "write a text or a whole number",
    );
}

#[test]
fn only_plain_yaml_is_read() {
    for (text, place, field, feature) in [
        ("name: x\nbudget: &a 1h\n", (2, 9), "budget", "an anchor"),
        ("name: x\nbudget: !!str 1h\n", (2, 9), "budget", "a tag"),
        (
            "name: x\n? [a]\n: 1\n",
            (2, 3),
            "",
            "a key that is not text",
        ),
    ] {
        let message = format!("{feature} is not allowed in a campaign");
        check(text, place, field, &message, "plain keys");
    }
    // A reader that recurses would overflow its stack.
    for (deep, times) in [("- ", 10_000), ("- ", 17), ("[", 17), ("{a: ", 17)] {
        let found = diagnostic(&format!("name: x\nsizes:\n  {}", deep.repeat(times)));
        let message = "such deep nesting is not allowed in a campaign";
        assert_eq!((found.line, found.message.as_str()), (3, message));
    }
    for deep in ["[", "{a: ", "? "] {
        diagnostic(&format!("name: x\nsizes:\n  {}", deep.repeat(10_000)));
    }
}

#[test]
fn errors_are_shown_like_those_of_a_compiler() {
    let texts = [
        "name: x\nrepetitions:\n  minimun: 5\n",
        "name: x\nshapes: [1x2, 2x4]\n",
        "name: x\nlaunches: six\n",
        "name: x\nname: y\n",
        "name: x\ncandidates: {include: allreduce/dual-root}\n",
        "launches: 3\n",
        "",
    ];
    let shown = texts.map(|text| parse(text).map(drop).expect_err("refused").to_string());
    assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn a_missing_file_is_named() {
    let error = Campaign::load("/nowhere/campaign.yaml".as_ref()).expect_err("no such file");
    assert!(
        error.to_string().contains("/nowhere/campaign.yaml"),
        "{error}"
    );
    assert!(
        error
            .help()
            .is_some_and(|help| help.contains("colltune init"))
    );
}

proptest! {
    /// Whatever a file contains, the answer is a campaign or an error that points into the file.
    #[test]
    fn any_text_is_read_or_refused(
        lines in prop::collection::vec("(name|sizes|shapes|library|launcher|candidates|parameters|x)?(: ?|- |\\{|\\[)?[a-z0-9*&!'\"\\[\\]{},:. é-]{0,12}", 0..6),
    ) {
        let text = lines.join("\n");
        if let Err(error) = parse(&text) {
            let CampaignError::Invalid(found) = error else { panic!("nothing was read") };
            prop_assert!(found.line <= text.lines().count().max(1), "{found}");
            prop_assert!(!found.help.is_empty());
        }
    }
}
