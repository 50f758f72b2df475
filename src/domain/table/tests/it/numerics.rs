//! Rules that are withheld for the bits of their results.

use std::collections::BTreeMap;

use schedule::Collective;
use table::{
    Confidence, Deployment, Deployments, Lack, MeasuredPoint, Numerics, OperatorClass, Operators,
    Policy, Query, Rule, RulePlace, RuleSource, ShapeRules, Table, Withheld,
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

/// Adds one rank after the other.
fn in_a_row(from_bytes: u64) -> Rule {
    let parameters = Parameters {
        reduce: Some("chain".to_owned()),
        bcast: Some("binomial".to_owned()),
        ..Parameters::default()
    };
    rule(from_bytes, ours("allreduce/reduce_broadcast", parameters))
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
        nonblocking: None,
    }
}

/// The sizes from which rules are withheld for the requirements, with the reason. The counts of the usage agree.
fn withheld(table: &Table, requirements: &str) -> Vec<(u64, Lack)> {
    let policy = Policy {
        numerics: Some(requirements.parse().expect("requirements")),
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

/// Of the algorithms of an entry, those with the tree that gains most stay. What is left to the library carries no
/// promise.
#[test]
fn one_tree_stays_for_all_sizes() {
    let check = |rules, expected: &[u64]| {
        let entries = vec![entry(2, 3, Operators::Commutative, rules)];
        let sizes = expected.iter().map(|bytes| (*bytes, Lack::Size));
        let withheld = withheld(&table(entries), "independent_of_size");
        assert_eq!(withheld, sizes.collect::<Vec<_>>());
    };
    let gaining = |rule: Rule, speedup: f64| Rule {
        speedup: Some(speedup),
        ..rule
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
    check(vec![plain(0, RECURSIVE_DOUBLING), in_a_row(4096)], &[4096]);
    check(
        vec![
            plain(0, RECURSIVE_DOUBLING),
            gaining(in_a_row(4096), 2.5),
            default(8192),
        ],
        &[0],
    );
    // Rules with one tree count together.
    check(
        vec![
            plain(0, RECURSIVE_DOUBLING),
            gaining(in_a_row(4096), 2.5),
            plain(1 << 16, RECURSIVE_DOUBLING),
        ],
        &[4096],
    );
    // Elements of a ring have different trees.
    check(
        vec![
            plain(0, RECURSIVE_DOUBLING),
            gaining(plain(4096, RING), 9.0),
        ],
        &[4096],
    );
    check(vec![plain(0, RING)], &[0]);
}

/// These two algorithms combine alike, so each serves its sizes.
#[test]
fn algorithms_with_the_same_tree_give_the_same_bits() {
    let rules = vec![plain(0, RECURSIVE_DOUBLING), plain(4096, RABENSEIFNER)];
    let both = "independent_of_placement,independent_of_size";
    assert_eq!(withheld_in_one_entry(rules.clone(), both), []);
    let any = Operators::Commutative;
    let others = entry(4, 1, any, vec![plain(0, RABENSEIFNER)]);
    let entries = vec![entry(2, 2, any, rules), others];
    assert_eq!(withheld(&table(entries.clone()), both), []);
    // With extrapolation, the rules also serve six ranks.
    let policy = Policy {
        numerics: Some(both.parse().expect("requirements")),
        extrapolate: true,
        ..Policy::default()
    };
    assert!(!table(entries).deployed_by(policy).1.is_empty());
}

#[test]
fn what_requirements_cost_is_stated() {
    let any = Operators::Commutative;
    let speedup_at = |(bytes, speedup): (u64, f64)| MeasuredPoint::new(bytes, 1e-6, speedup * 1e-6);
    let mut by_size = entry(
        2,
        3,
        any,
        vec![
            plain(0, RECURSIVE_DOUBLING),
            plain(4096, RING),
            default((1 << 20) + 1),
        ],
    );
    by_size.measured = [(64, 4.0), (4096, 1.5), (1 << 20, 3.0)]
        .map(speedup_at)
        .to_vec();
    let mut table = table(vec![by_size]);
    let size = "independent_of_size".parse().expect("a requirement");
    assert_eq!(table.costs_of_numerics(Policy::default()), []);
    table.provenance.numerics = size;
    let costs = table.costs_of_numerics(Policy::default());
    assert_eq!(costs.len(), 1, "{costs:?}");
    assert_eq!(
        costs[0].to_string(),
        "`numerics: independent_of_size` leaves 1 rule to the library's default, through libcolltune.so; at 2 measured \
         sizes calls take 2.12 times as long as with them in geometric mean, at most 3.00 times (at 1M bytes by the rule \
         for allreduce, 2x3, commutative operators, from 4096 bytes)"
    );
    // `lookup` and reports give the reason.
    let reason_at = |of: &Table, bytes| {
        let decision = of.lookup(&Query {
            collective: Collective::Allreduce,
            shape: CommShape { nodes: 2, ppn: 3 },
            order: RankOrder::Unknown,
            bytes,
            operators: OperatorClass::Commutative,
            deployment: Deployment::Colltune,
        });
        decision.to_json().reason
    };
    assert_eq!(reason_at(&table, 64), None);
    let reason = reason_at(&table, 1 << 20);
    assert_eq!(reason.as_deref(), Some("other bits at another size"));
    let lacks = table.deployed_by(Policy::default()).1;
    assert_eq!(lacks.len(), 1, "{lacks:?}");
    // A policy may require nothing of the same table.
    let free = Policy {
        numerics: Some(Numerics::default()),
        ..Policy::default()
    };
    assert_eq!(table.deployed_by(free).1, []);
    assert_eq!(table.costs_of_numerics(free), []);
    // Nor is the library's own algorithm deployed, of which nothing is known.
    let native = Candidate::Native {
        algorithm: "native:allreduce/ring".to_owned(),
        parameters: Parameters::default(),
    };
    let mut of_library = entry(2, 3, any, vec![rule(0, native)]);
    of_library.deployments = Deployments::Library;
    table.collectives = BTreeMap::from([(Collective::Allreduce, vec![of_library])]);
    let of_native = table.costs_of_numerics(Policy::default());
    let text: Vec<String> = of_native.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "`numerics: independent_of_size` leaves 1 rule to the library's default, through the library's own settings; what \
             that costs was not measured"
        ]
    );
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
    // One entry may serve more operators than another.
    let all_operators = entry(4, 2, Operators::Any, vec![plain(0, RECURSIVE_DOUBLING)]);
    let doubling = entry(2, 4, any, vec![plain(0, RECURSIVE_DOUBLING)]);
    check(vec![doubling, all_operators], &[]);
    // Blocks of another size make other trees only where those of elements differ.
    let in_blocks_of =
        |nodes, ppn, algorithm, bytes| entry(nodes, ppn, any, vec![in_blocks(0, algorithm, bytes)]);
    for (algorithm, changed) in [
        ("allreduce/dual_root", &[][..]),
        ("allreduce/two_tree", &[0, 0]),
    ] {
        check(
            vec![
                in_blocks_of(2, 4, algorithm, 1024),
                in_blocks_of(4, 2, algorithm, 1024),
            ],
            &[],
        );
        check(
            vec![
                in_blocks_of(2, 4, algorithm, 1024),
                in_blocks_of(4, 2, algorithm, 8192),
            ],
            changed,
        );
    }
}
