//! Rules that are withheld for the bits of their results.

use std::collections::BTreeMap;

use schedule::Collective;
use table::{
    Confidence, Deployment, Deployments, Lack, Numerics, Operators, Policy, Rule, RulePlace,
    RuleSource, ShapeRules, Table, Withheld,
};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder};

use crate::sample::{ours, provenance};

const RECURSIVE_DOUBLING: &str = "allreduce/recursive_doubling";
const RABENSEIFNER: &str = "allreduce/rabenseifner";
const RING: &str = "allreduce/ring";

fn default(from_bytes: u64) -> Rule {
    Rule::new(from_bytes, Candidate::Default, None, Confidence::High)
}

fn rule(from_bytes: u64, candidate: Candidate) -> Rule {
    Rule {
        confirmed: true,
        ..Rule::new(from_bytes, candidate, Some(2.0), Confidence::High)
    }
}

fn plain(from_bytes: u64, algorithm: &str) -> Rule {
    rule(from_bytes, ours(algorithm, Parameters::default()))
}

fn in_blocks(from_bytes: u64, algorithm: &str, block_bytes: u64) -> Rule {
    let parameters = Parameters {
        block_bytes: Some(block_bytes),
        ..Parameters::default()
    };
    rule(from_bytes, ours(algorithm, parameters))
}

fn entry(nodes: u32, ppn: u32, operators: Operators, rules: Vec<Rule>) -> ShapeRules {
    ShapeRules {
        shape: CommShape { nodes, ppn },
        order: RankOrder::Unknown,
        operators,
        deployments: Deployments::Colltune,
        source: RuleSource::Measured,
        rules,
        measured: Vec::new(),
        candidates: Vec::new(),
    }
}

fn table(entries: Vec<ShapeRules>) -> Table {
    Table {
        name: "numerics".to_owned(),
        provenance: provenance(),
        collectives: BTreeMap::from([(Collective::Allreduce, entries)]),
        verdicts: Vec::new(),
    }
}

/// The sizes from which rules are withheld for the requirements, with the reason. The counts of the usage agree.
fn withheld(table: &Table, requirements: &str) -> Vec<(u64, Lack)> {
    let policy = Policy {
        numerics: requirements.parse().expect("requirements"),
        ..Policy::default()
    };
    let (deployed, withheld) = table.deployed_by(policy);
    let usage = table.count_usage(policy, Deployment::Colltune);
    assert_eq!(usage.numerics, withheld.len(), "{usage}");
    assert_eq!(usage.unused_rules(), withheld.len(), "{usage}");
    assert_eq!(deployed.deployed_by(policy), (deployed.clone(), Vec::new()));
    withheld
        .iter()
        .map(|rule| (from_bytes(rule), rule.lack))
        .collect()
}

fn from_bytes(withheld: &Withheld) -> u64 {
    match withheld.place {
        RulePlace::Rule { from_bytes, .. } => from_bytes,
        RulePlace::Absent(_) => panic!("{withheld} is no rule of the table"),
    }
}

fn withheld_in_one_entry(rules: Vec<Rule>, requirements: &str) -> Vec<(u64, Lack)> {
    let entries = vec![entry(2, 2, Operators::Commutative, rules)];
    withheld(&table(entries), requirements)
}

#[test]
fn requirements_are_read_as_they_are_shown() {
    for text in [
        "none",
        "independent_of_placement",
        "independent_of_size",
        "independent_of_placement,independent_of_size",
    ] {
        let numerics: Numerics = text.parse().expect("requirements");
        assert_eq!(numerics.to_string(), text);
    }
    let always: Numerics = "same_on_all_ranks".parse().expect("a requirement");
    assert!(always.is_none());
    for wrong in ["", "size", "none,independent_of_size"] {
        assert!(wrong.parse::<Numerics>().is_err(), "{wrong}");
    }
}

#[test]
fn one_rule_for_all_sizes_gives_the_same_bits_at_all_of_them() {
    let check = |rules, expected: &[u64]| {
        let withheld = withheld_in_one_entry(rules, "independent_of_size");
        let sizes = expected.iter().map(|bytes| (*bytes, Lack::Size));
        assert_eq!(withheld, sizes.collect::<Vec<_>>());
    };
    check(vec![plain(0, RECURSIVE_DOUBLING)], &[]);
    check(vec![default(0)], &[]);
    // Blocks change no tree.
    check(
        vec![
            in_blocks(0, "allreduce/dual_root", 1024),
            in_blocks(4096, "allreduce/dual_root", 8192),
        ],
        &[],
    );
    check(
        vec![plain(0, RECURSIVE_DOUBLING), plain(4096, RABENSEIFNER)],
        &[0, 4096],
    );
    // Elements of a ring have different trees, and without it large messages are the library's.
    check(
        vec![plain(0, RECURSIVE_DOUBLING), plain(4096, RING)],
        &[0, 4096],
    );
    check(vec![default(0), plain(8, RECURSIVE_DOUBLING)], &[8]);
}

#[test]
fn rules_for_other_placements_of_as_many_ranks_must_give_the_same_bits() {
    let any = Operators::Commutative;
    let placement = "independent_of_placement";
    let rules = vec![plain(0, RECURSIVE_DOUBLING), plain(4096, RING)];
    assert_eq!(withheld_in_one_entry(rules.clone(), placement), []);
    let check = |entries, expected: &[u64]| {
        let sizes = expected.iter().map(|bytes| (*bytes, Lack::Placement));
        assert_eq!(
            withheld(&table(entries), placement),
            sizes.collect::<Vec<_>>()
        );
    };
    let first = entry(2, 4, any, rules.clone());
    check(vec![first.clone(), entry(4, 2, any, rules)], &[]);
    // From 64 KiB on, both have the ring.
    let others = vec![plain(0, RECURSIVE_DOUBLING), plain(1 << 16, RING)];
    let expected = [4096, 0];
    check(
        vec![first.clone(), entry(4, 2, any, others.clone())],
        &expected,
    );
    // Another number of ranks gives other bits anyway, and so do other operators.
    check(vec![first.clone(), entry(4, 4, any, others.clone())], &[]);
    check(
        vec![
            first,
            entry(
                4,
                2,
                Operators::Noncommutative,
                vec![plain(0, "allreduce/dual_root")],
            ),
        ],
        &[],
    );
}
