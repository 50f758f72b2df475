//! The section with rules for nonblocking calls.

use std::path::Path;

use schedule::Collective;
use table::{Confidence, Deployment, Policy, Rule, Table, TableComparison, TableError};
use vocabulary::{Candidate, Pattern};

use crate::sample;

/// A table as a campaign with nonblocking calls decides it.
fn decided() -> Table {
    let mut table = sample::table();
    table.name = "night_nonblocking".to_owned();
    table.provenance.pattern = Pattern::Nonblocking;
    table.provenance.campaign = "other".to_owned();
    table
}

/// A table with both forms of rules.
fn joined() -> Table {
    decided().join_with_replaced(Some(&sample::table()))
}

fn parse(text: &str) -> Result<Table, String> {
    match Table::parse(text, Path::new("tables/t.yaml")) {
        Ok(table) => Ok(table),
        Err(TableError::Invalid(invalid)) => Err(invalid.to_string()),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn rules_for_nonblocking_calls_are_a_section_of_the_file() {
    let table = joined();
    let text = table.to_yaml();
    assert!(text.contains("\nformat: colltune-table 7\n"), "{text}");
    assert_eq!(parse(&text).expect(&text), table);
    let section = table.nonblocking.as_deref().expect("a section");
    assert_eq!(section.collectives, sample::table().collectives);
    assert_eq!(section.provenance.campaign, "other");
    assert_eq!(section.name, sample::table().name);
    // Older versions read tables without it.
    assert!(sample::table().to_yaml().contains("colltune-table 3\n"));
}

#[test]
fn each_campaign_replaces_its_own_rules() {
    let blocking = sample::table();
    let mut later = blocking.clone();
    later.provenance.campaign = "later".to_owned();
    let both = later.clone().join_with_replaced(Some(&joined()));
    assert_eq!(both.nonblocking, joined().nonblocking);
    assert_eq!(both.collectives, later.collectives);
    assert_eq!(both.provenance.campaign, "later");
    assert_eq!(later.replaced_part(&joined()), Some(&joined()));
    assert_eq!(decided().replaced_part(&blocking), None);
    // Nothing is kept of another library.
    let mut other = joined();
    other.provenance.library.version = "5.0.0".to_owned();
    assert_eq!(
        later.clone().join_with_replaced(Some(&other)).nonblocking,
        None
    );
    assert_eq!(decided().replaced_part(&other), Some(&other));
    let alone_again = decided().join_with_replaced(Some(&other));
    assert!(alone_again.collectives.is_empty());
    // Without rules for blocking calls, the file has none.
    let alone = decided().join_with_replaced(None);
    assert!(alone.collectives.is_empty() && alone.has_rules());
    assert_eq!(alone.blocking_and_nonblocking().count(), 2);
    let withdrawn = Table {
        nonblocking: None,
        ..alone.clone()
    };
    assert!(!withdrawn.has_rules());
    assert_eq!(parse(&alone.to_yaml()), Ok(alone.clone()));
    assert_eq!(later.replaced_part(&alone), None);
    let filled = blocking.clone().join_with_replaced(Some(&alone));
    assert_eq!(filled.collectives, blocking.collectives);
    assert_eq!(filled.nonblocking, alone.nonblocking);
}

#[test]
fn a_comparison_says_whether_rules_for_nonblocking_calls_differ() {
    let compare = |after: &Table| TableComparison::from_tables(("a", &joined()), ("b", after));
    let same = compare(&joined());
    assert_eq!((same.note, same.is_nonblocking_different), (None, false));
    let other = compare(&sample::table());
    assert!(other.is_nonblocking_different && other.diff.is_empty());
    let note = other.note.expect("a note");
    assert!(
        note.starts_with("The rules for nonblocking calls differ"),
        "{note}"
    );
}

#[test]
fn a_policy_withholds_rules_for_nonblocking_calls_too() {
    // Nothing in the sample is confirmed.
    let (deployed, withheld) = joined().deployed_by(Policy::default());
    let of_section: Vec<String> = withheld
        .iter()
        .filter(|rule| rule.is_nonblocking)
        .map(ToString::to_string)
        .collect();
    assert!(!of_section.is_empty() && of_section.len() < withheld.len());
    let named = of_section.iter();
    let mut named = named.filter(|text| text.starts_with("nonblocking bcast, "));
    assert!(named.next().is_some(), "{of_section:?}");
    // They count for programs that use colltune alone.
    let blocking_rules = |deployment| {
        let table = sample::table();
        table
            .count_usage(Policy::default(), deployment)
            .unused_rules()
    };
    let all_rules = |deployment| {
        let table = joined();
        table
            .count_usage(Policy::default(), deployment)
            .unused_rules()
    };
    let of_library = Deployment::Library;
    assert_eq!(all_rules(of_library), blocking_rules(of_library));
    let of_colltune = Deployment::Colltune;
    assert!(all_rules(of_colltune) > blocking_rules(of_colltune));
    let section = deployed.nonblocking.expect("a section");
    let mut rules = section.entries().flat_map(|entry| &entry.rules);
    assert!(rules.all(|rule| rule.candidate == Candidate::Default));
    let all = Policy {
        unconfirmed: true,
        min_confidence: Some(Confidence::Low),
        ..Policy::default()
    };
    let kept = joined().deployed_by(all).0.nonblocking.expect("a section");
    let mut kept_rules = kept.entries().flat_map(|entry| &entry.rules);
    assert!(kept_rules.any(|rule| rule.candidate.is_ours()));
}

#[test]
fn a_wrong_section_is_refused_with_a_remedy() {
    let text = joined().to_yaml();
    let edited = |old: &str, new: &str| {
        let (before, section) = text.split_once("\nnonblocking:\n").expect("a section");
        assert!(section.contains(old), "{old}\n{section}");
        format!("{before}\nnonblocking:\n{}", section.replacen(old, new, 1))
    };
    let candidate = |name: &str| edited("candidate: bcast/chain", &format!("candidate: {name}"));
    let older = text.replacen("colltune-table 7", "colltune-table 6", 1);
    let outside = decided().to_yaml();
    for (wrong, message, help) in [
        (
            older,
            "`nonblocking` is not in tables of format 6",
            "colltune-table 7",
        ),
        (
            edited("name: openmpi", "name: mpich"),
            "the rules for nonblocking calls are of mpich-",
            "remove `nonblocking`",
        ),
        (
            edited("pattern: nonblocking", "pattern: repeated"),
            "the rules for nonblocking calls were measured with `pattern: repeated`",
            "pattern: nonblocking",
        ),
        (
            edited("    bcast:", "    reduce:"),
            "`bcast/chain` is an algorithm of bcast, not of reduce",
            "algorithms of reduce",
        ),
        (
            edited("candidate: default", "candidate: native:bcast/binomial"),
            "`native:bcast/binomial",
            "name `default`, or an algorithm of colltune",
        ),
        (
            candidate("bcast/chain, through: shared"),
            "messages of nonblocking calls go through MPI",
            "remove `through`",
        ),
        (
            outside,
            "these rules were measured with nonblocking calls",
            "under `nonblocking`",
        ),
    ] {
        let refusal = parse(&wrong).expect_err(&wrong);
        assert!(refusal.starts_with(message), "{message}: {refusal}");
        assert!(refusal.contains(help), "{help}: {refusal}");
        assert!(refusal.contains("--> tables/t.yaml:"), "{refusal}");
    }
    let mut others = joined();
    let section = others.nonblocking.as_mut().expect("a section");
    let entries = section
        .collectives
        .remove(&Collective::Allreduce)
        .expect("rules");
    section.collectives.clear();
    let empty = parse(&others.to_yaml()).expect_err("no rules");
    assert!(empty.contains("`collectives` is empty"), "{empty}");
    let mut default = entries;
    for entry in &mut default {
        entry.measured.clear();
        entry.candidates.clear();
        entry.rules = vec![Rule::new(0, Candidate::Default, None, Confidence::Low)];
    }
    let emptied = others.nonblocking.as_mut().expect("a section");
    emptied
        .collectives
        .insert(Collective::ReduceScatter, default);
    let unserved = parse(&others.to_yaml()).expect_err("no such rules");
    assert!(
        unserved.contains("reduce_scatter has no rules for nonblocking calls"),
        "{unserved}"
    );
}
