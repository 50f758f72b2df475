//! Properties of reading that hold for all kinds of files.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use serde::Deserialize;
use strict_yaml::{
    Argument, Diagnostic, Document, Field, Kind, OneOrMany, Scalar, Shorthand, Verbatim,
    nearest_name,
};
use thiserror::Error;

const KIND: Kind = Kind {
    name: "a test",
    start: "begin with `text: ...`",
    reference: Some("see there"),
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Colour {
    Red,
    Green,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inner {
    whole: u16,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    inner: Option<Inner>,
    text: String,
    whole: u16,
    number: f64,
    truth: bool,
    colour: Option<Colour>,
    pair: Option<(u8, u8)>,
    scalar: Option<Scalar>,
    argument: Option<Argument>,
    verbatim: Option<Verbatim>,
    many: Option<OneOrMany<Scalar>>,
    short: Option<Shorthand<Scalar, BTreeMap<String, OneOrMany<u32>>>>,
}

fn read(text: &str) -> Result<Settings, Box<Diagnostic>> {
    Document::parse(&KIND, Path::new("t.yaml"), text)?.read_values()
}

/// `text` is refused at `LINE:COLUMN` over a number of characters, in `field`.
fn check(text: &str, place: (usize, usize, usize), field: &str, message: &str, help: &str) {
    let found = read(text).expect_err(text);
    assert_eq!((found.line, found.column, found.length), place, "{found}");
    assert_eq!(found.field.to_string(), field, "{found}");
    assert_eq!(found.message, message, "{found}");
    assert_eq!(found.help, help, "{found}");
}

#[test]
fn values_are_read_as_yaml_defines() {
    let text = "inner: {whole: 3}\ntext: yes\nwhole: 0x10\nnumber: 7\ntruth: True\ncolour: green\npair: [1, 2]\n\
                scalar: 64\nargument: -1\nverbatim: 4.10\nmany: 64K\nshort: {a: 1, b: [2, 3]}\n";
    let read = read(text).expect("valid");
    assert_eq!((read.text.as_str(), read.whole), ("yes", 16));
    assert_eq!(read.inner.map(|inner| inner.whole), Some(3));
    assert_eq!((read.number, read.truth), (7.0, true));
    assert!(matches!(read.colour, Some(Colour::Green)));
    assert_eq!(read.pair, Some((1, 2)));
    let texts = [
        read.scalar.map(|scalar| scalar.0),
        read.argument.map(|argument| argument.0),
        read.verbatim.map(|verbatim| verbatim.0),
        read.many.map(|many| many.0[0].0.clone()),
    ];
    assert_eq!(
        texts.map(Option::unwrap_or_default),
        ["64", "-1", "4.10", "64K"]
    );
    let Some(Shorthand::Full(lists)) = read.short else {
        panic!("a mapping");
    };
    assert_eq!((&lists["a"].0, &lists["b"].0), (&vec![1], &vec![2, 3]));
}

#[test]
fn texts_that_yaml_reads_as_another_type_need_quotes() {
    for text in ["4.10", "007.5", "5", "-3", "0x1F", "true", ".inf", "1e3"] {
        let message =
            format!("YAML reads `{text}` as a number or truth value, where a text is expected");
        let help = format!("quote it: `text: \"{text}\"`");
        let line = format!("text: {text}\n");
        check(&line, (1, 7, text.len()), "text", &message, &help);
        assert!(read(&format!("text: '{text}'\n")).is_ok());
    }
    for text in ["4.1.4", "2026-11-20", "007", "no", "1h", "0xyz", "nan"] {
        assert_eq!(read(&format!("text: {text}\n")).expect(text).text, text);
    }
    for text in ["1.5", "true"] {
        let found = read(&format!("argument: {text}\n")).expect_err("refused");
        assert_eq!(found.help, format!("quote it: `argument: \"{text}\"`"));
    }
}

#[test]
fn errors_about_types_say_what_is_expected_and_found() {
    for (line, column, expected, found) in [
        (
            "whole: 65536",
            8,
            "a whole number from 0 to 65535",
            "`65536`",
        ),
        (
            "whole: \"6\"",
            8,
            "a whole number from 0 to 65535",
            "`\"6\"`",
        ),
        ("number: {}", 9, "a number", "a mapping"),
        ("truth: 1", 8, "a boolean", "`1`"),
        ("text: [a]", 7, "a text", "a list"),
        ("scalar: 1.5", 9, "a text or a whole number", "`1.5`"),
        ("many: {a: 1}", 7, "a text or a whole number", "a mapping"),
        ("colour: [red]", 9, "a word", "a list"),
        ("pair: [1, 2, 3]", 7, "a list of length 2", "a list"),
        ("inner: [7]", 8, "a mapping (`key: value`)", "a list"),
        ("inner: 7", 8, "a mapping (`key: value`)", "`7`"),
    ] {
        let shown = read(line).expect_err(line);
        assert_eq!((shown.line, shown.column), (1, column), "{shown}");
        assert_eq!(shown.message, format!("expected {expected}, found {found}"));
        assert_eq!(shown.help, format!("write {expected}; see there"));
    }
    check(
        "colour: gren\n",
        (1, 9, 4),
        "colour",
        "unknown colour `gren`",
        "did you mean `green`?",
    );
    check(
        "short:\n  b: [1, x]\n",
        (2, 10, 1),
        "short.b[1]",
        "expected a whole number from 0 to 4294967295, found `x`",
        "write a whole number from 0 to 4294967295; see there",
    );
}

#[test]
fn tabs_that_indent_are_found_in_their_line() {
    for (text, line, column) in [
        ("number: 1\n\ttext: a\n", 2, 1),
        ("short:\n  b: [1]\n \tb: [1]\n", 3, 2),
        ("short:\n\tb: [1]\n", 2, 1),
    ] {
        let shown = read(text).expect_err(text);
        assert_eq!((shown.line, shown.column), (line, column), "{shown}");
        assert_eq!(shown.help, "use spaces, not tabs");
    }
}

#[test]
fn keys_occur_once_and_have_a_value() {
    check(
        "tests: 1\n",
        (1, 1, 5),
        "tests",
        "unknown key `tests`",
        "did you mean `text`?",
    );
    let help = "give it a value, or remove the key to get its default";
    for empty in ["", " ~", " null"] {
        let text = format!("short:\n  b:{empty}\n");
        check(&text, (2, 3, 1), "short.b", "this key has no value", help);
    }
    check(
        "many: [a, ~]\n",
        (1, 11, 1),
        "many[1]",
        "this entry of the list has no value",
        "give it a value, or remove it",
    );
    check(
        "text: a\ntruth: true\ntext: b\n",
        (3, 1, 4),
        "text",
        "the key `text` is written twice, first in line 1",
        "keep one of them",
    );
}

/// Places count characters, not bytes, and tabs stay tabs.
#[test]
fn carets_are_under_the_value() {
    let shown = read("text: a\nmany: [ä,\tö, 1.5]\n")
        .expect_err("refused")
        .to_string();
    assert_eq!(
        shown,
        "expected a text or a whole number, found `1.5`\n --> t.yaml:2:14 (many[2])\n  |\n\
         2 | many: [ä,\tö, 1.5]\n  |          \t   ^^^\n  = help: write a text or a whole number; see there"
    );
}

#[test]
fn long_lines_are_shown_around_the_mistake() {
    let text = format!(
        "many: [{}1.5, {}]\n",
        "a, ".repeat(1 << 16),
        "b, ".repeat(1 << 16)
    );
    let found = read(&text).expect_err("refused");
    assert_eq!(found.column, 8 + (3 << 16));
    let shown = found.to_string();
    let lines: Vec<&str> = shown.lines().collect();
    let caret = lines[4].find('^').expect("a caret");
    assert!(lines[3][caret..].starts_with("1.5, b, b, "), "{shown}");
    assert!(lines[3].ends_with("..."), "{shown}");
    assert_eq!(lines[4].trim_start_matches([' ', '|']), "^^^", "{shown}");
    assert!(shown.len() < 800, "{shown}");
}

#[test]
fn long_values_and_keys_are_quoted_in_part() {
    let long = "7".repeat(1 << 20);
    for text in [
        format!("whole: {long}"),
        format!("{long}: 1"),
        format!("colour: {long}"),
        format!("text: 0.{long}"),
        format!("short:\n  {long}: x"),
        format!("text: [{}]", "[".repeat(1 << 20)),
        long.clone(),
    ] {
        let shown = read(&text).expect_err("refused").to_string();
        assert!(shown.len() < 1600, "{shown}");
    }
}

#[test]
fn quoted_control_characters_are_escaped() {
    let text = "text: \"a\"\nmany:\u{9b}2J [ä,\tö, \u{85}, 1.5]\n";
    let found = read(text).expect_err("refused");
    assert_eq!(found.source_line, "many:\\u009b2J [ä,\tö, \\u0085, 1.5]");
    let shown = read("\"whole\\e[2J\": 1").expect_err("refused").to_string();
    assert!(shown.contains("unknown key `whole\\u001b[2J`"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn files_of_too_many_values_are_refused() {
    let text = |values| format!("many: [{}]", "a,".repeat(values));
    assert_eq!(
        read(&text(1 << 16))
            .expect("read")
            .many
            .expect("many")
            .0
            .len(),
        1 << 16
    );
    let shown = read(&text(2 << 20)).expect_err("too many");
    assert_eq!(
        shown.message,
        "such a number of values is not allowed in a test"
    );
}

#[test]
fn a_value_is_replaced_in_place() {
    let text = "# ä\nshort: {ö: 'x y'} # z\nmany: [a]\n";
    let document = Document::parse(&KIND, Path::new("t.yaml"), text).expect("valid");
    let field = Field::from_key("short").key("ö");
    let changed = document.with_value(&field, "[1]").expect("a scalar");
    assert_eq!(changed, text.replace("'x y'", "[1]"));
    assert_eq!(document.with_value(&Field::from_key("many"), "b"), None);
    assert_eq!(document.with_value(&Field::from_key("absent"), "b"), None);
}

#[test]
fn similar_names_are_found() {
    let names = ["default", "bcast/binomial", "bcast/chain"];
    assert_eq!(nearest_name("Defualt", names), Some("default"));
    assert_eq!(nearest_name("binomal", names), Some("bcast/binomial"));
    assert_eq!(nearest_name("bcast/cain", names), Some("bcast/chain"));
    assert_eq!(nearest_name("ring", names), None);
    assert_eq!(nearest_name("", []), None);
}

proptest! {
    /// Whatever a file contains, the answer is settings or a place within the file.
    #[test]
    fn any_text_is_read_or_refused(
        lines in prop::collection::vec(
            "(text|whole|many|short|colour|pair|verbatim|x)?(: ?|- |\\? |\\{|\\[)?[a-z0-9*&!'\"|>%@\\[\\]{},:.~ \té-]{0,12}",
            0..6,
        ),
    ) {
        let text = lines.join("\n");
        if let Err(found) = read(&text) {
            prop_assert!((1..=text.lines().count().max(1)).contains(&found.line), "{found}");
            prop_assert!(found.column >= 1 && found.length >= 1);
            prop_assert!(found.to_string().contains(" = help: "));
        }
    }
}

#[test]
fn keys_get_other_values_and_the_rest_stays() {
    let changed = |text: &str, values: &[(&str, &str)]| {
        let document = Document::parse(&KIND, Path::new("test.yaml"), text).expect("valid");
        let values: Vec<_> = values
            .iter()
            .map(|(key, value)| (*key, (*value).to_owned()))
            .collect();
        document.with_keys(&values)
    };
    let text = "# Größe\nfirst: [1,\n  2]\nsecond:  # two\n  - a\n  - b\nthird: x\n";
    let expected = "# Größe\nfirst: [1,\n  2]\nsecond: 7\nthird: x\n";
    assert_eq!(changed(text, &[("second", "7")]).as_deref(), Some(expected));
    let extended =
        "# Größe\nfirst: 1\nsecond:  # two\n  - a\n  - b\nthird: \"y\"\nfourth: {a: 1}\n";
    let values = [("third", "\"y\""), ("fourth", "{a: 1}"), ("first", "1")];
    assert_eq!(changed(text, &values).as_deref(), Some(extended));
    assert_eq!(
        changed("  a: 1\n  b: 2", &[("a", "3"), ("c", "4")]).as_deref(),
        Some("  a: 3\n  b: 2\n  c: 4\n")
    );
    assert_eq!(changed("{a: 1}", &[("a", "3")]), None);
}

/// What only the reader of this kind of file can find wrong.
#[derive(Debug, Error, strict_yaml::Problem)]
enum ColourProblem {
    #[error("`{name}` is too bright")]
    #[help(if *name == "white", "choose a colour")]
    #[help("choose a darker {name}")]
    Bright { name: &'static str },
}

#[test]
fn a_problem_has_the_remedy_beside_its_variant() {
    let path = Path::new("colours.yaml");
    let help = |name| Diagnostic::of_line(path, "text: a", 1, ColourProblem::Bright { name }).help;
    assert_eq!(help("white"), "choose a colour");
    assert_eq!(help("red"), "choose a darker red");
}
