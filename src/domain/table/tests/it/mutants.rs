//! Damaged tables: the reader refuses them with the line, or reads a valid table.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{RngSeed, TestRunner};
use table::{Table, TableError};

use crate::sample;

/// Changes that a person, a tool or a broken disk makes to a text.
#[derive(Clone, Debug)]
enum Damage {
    Remove(Index),
    Double(Index),
    Swap(Index, Index),
    Indent(Index, usize),
    Unindent(Index),
    Cut(Index),
    /// A character in place of another.
    Character(Index, char),
    /// Words of tables in place of other words.
    Word(Index, &'static str),
    /// A part of the file at another place.
    Move(Index, Index, usize),
}

/// Numbers beyond bounds, special characters of YAML, and words that are valid elsewhere.
const WORDS: &[&str] = &[
    "-1",
    "0",
    "1e400",
    "-0.0",
    ".nan",
    ".inf",
    "0x10",
    "1_000",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "64K",
    "16E",
    "17E",
    "~",
    "null",
    "''",
    "[]",
    "{}",
    "[[",
    "}",
    "&a",
    "*a",
    "!!int",
    "|",
    ">",
    "---",
    "...",
    "? ",
    "- -",
    "a: b: c",
    "\u{0}",
    "\u{feff}",
    "\t",
    "default",
    "bcast/chain",
    "allreduce/ring",
    "native:bcast/chain",
    "radix",
    "any",
    "both",
    "high",
    "collectives:",
    "rules:",
    "<<: *a",
    "from",
    "candidate",
    "nodes: 0",
];

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<Index>;
    prop_oneof![
        1 => place().prop_map(Damage::Remove),
        1 => place().prop_map(Damage::Double),
        1 => (place(), place()).prop_map(|(a, b)| Damage::Swap(a, b)),
        1 => (place(), 1..9_usize).prop_map(|(line, by)| Damage::Indent(line, by)),
        1 => place().prop_map(Damage::Unindent),
        1 => place().prop_map(Damage::Cut),
        1 => (place(), any::<char>()).prop_map(|(at, c)| Damage::Character(at, c)),
        3 => (place(), select(WORDS)).prop_map(|(at, word)| Damage::Word(at, word)),
        1 => (place(), place(), 1..200_usize).prop_map(|(a, b, length)| Damage::Move(a, b, length)),
    ]
}

fn damaged(text: &str, damage: &Damage) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut characters: Vec<char> = text.chars().collect();
    if lines.is_empty() || characters.is_empty() {
        return text.to_owned();
    }
    let (rows, length) = (lines.len(), characters.len());
    match damage {
        Damage::Remove(line) => drop(lines.remove(line.index(rows))),
        Damage::Double(line) => lines.insert(line.index(rows), lines[line.index(rows)]),
        Damage::Swap(a, b) => lines.swap(a.index(rows), b.index(rows)),
        Damage::Unindent(line) => {
            let line = &mut lines[line.index(rows)];
            *line = line.trim_start();
        }
        Damage::Indent(line, by) => {
            let indented = format!("{}{}", " ".repeat(*by), lines[line.index(rows)]);
            lines[line.index(rows)] = &indented;
            return lines.join("\n");
        }
        Damage::Cut(at) => return characters[..at.index(length)].iter().collect(),
        Damage::Character(at, c) => {
            characters[at.index(length)] = *c;
            return characters.into_iter().collect();
        }
        Damage::Word(at, word) => {
            let is_part = |c: &char| c.is_alphanumeric() || "_./".contains(*c);
            let at = at.index(length);
            let start = characters[..at].iter().rposition(|c| !is_part(c));
            let start = start.map_or(0, |before| before + 1);
            let end = characters[at..].iter().position(|c| !is_part(c));
            let end = end.map_or(length, |after| at + after);
            characters.splice(start..end, word.chars());
            return characters.into_iter().collect();
        }
        Damage::Move(from, to, count) => {
            let from = from.index(length);
            let taken: Vec<char> = characters.drain(from..(from + count).min(length)).collect();
            let at = to.index(characters.len() + 1);
            characters.splice(at..at, taken);
            return characters.into_iter().collect();
        }
    }
    lines.join("\n") + "\n"
}

/// A refusal names a line of the text and a remedy; an accepted text is a table that can be written and reads back
/// equal.
fn check(text: &str) -> Result<(), TestCaseError> {
    match Table::parse(text, Path::new("t.yaml")) {
        Ok(table) => {
            let again = Table::parse(&table.to_yaml(), Path::new("t.yaml"));
            prop_assert_eq!(again.ok(), Some(table), "{}", text);
        }
        Err(TableError::Invalid(invalid)) => {
            let lines = text.lines().count().max(1);
            prop_assert!((1..=lines).contains(&invalid.line), "{invalid}\n\n{text}");
            let shown = invalid.to_string();
            let place = format!("--> t.yaml:{}:{}", invalid.line, invalid.column);
            prop_assert!(shown.contains(&place), "{shown}");
            prop_assert!(shown.contains("help: "), "{shown}");
        }
        Err(other) => return Err(TestCaseError::fail(other.to_string())),
    }
    Ok(())
}

/// `COLLTUNE_SEED` repeats the seed that a failure has printed.
fn seed() -> u64 {
    let given = std::env::var("COLLTUNE_SEED").ok();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let fresh = now.map_or(1, |now| now.as_nanos() as u64);
    given.and_then(|seed| seed.parse().ok()).unwrap_or(fresh)
}

#[test]
fn damaged_tables_are_refused_with_their_line_or_read() {
    let seed = seed();
    println!("COLLTUNE_SEED={seed}");
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 4000,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let good = sample::table().to_yaml();
    let result = runner.run(&prop::collection::vec(damage(), 1..4), |damages| {
        let text = damages
            .iter()
            .fold(good.clone(), |text, one| damaged(&text, one));
        check(&text)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn most_damage_is_noticed() {
    let good = sample::table().to_yaml();
    let mut runner = TestRunner::deterministic();
    let mut refused = 0;
    for _ in 0..200 {
        let tree = damage().new_tree(&mut runner).expect("a damage");
        let text = damaged(&good, &proptest::strategy::ValueTree::current(&tree));
        refused += u32::from(Table::parse(&text, Path::new("t.yaml")).is_err());
    }
    assert!(
        (100..=199).contains(&refused),
        "{refused} of 200 are refused"
    );
}
