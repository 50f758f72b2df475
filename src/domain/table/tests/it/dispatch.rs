//! Compiled rules agree with the table.

use std::collections::BTreeMap;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;
use schedule::Collective;
use table::dispatch::CommunicatorRules;
use table::{
    Confidence, Deployment, Deployments, OperatorClass, Operators, Query, Rule, RuleSource,
    ShapeMatch, ShapeRules, Table,
};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder};

use crate::sample::{DEPLOYMENTS, OPERATORS, provenance};

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..64_u64,
        0..1_u64 << 22,
        (0..64_u32, 0..3_u64).prop_map(|(power, off)| (1_u64 << power).wrapping_add(off) - 1),
        any::<u64>(),
    ]
}

fn shape() -> impl Strategy<Value = CommShape> {
    (1..20_u32, 1..10_u32).prop_map(|(nodes, ppn)| CommShape { nodes, ppn })
}

/// Rules that begin at these sizes, with different candidates, which are never carried out.
fn rules_from(sizes: impl IntoIterator<Item = u64>) -> Vec<Rule> {
    let rule = |(place, from_bytes): (u32, u64)| {
        let candidate = match place % 3 {
            0 => Candidate::Default,
            _ => Candidate::Ours {
                algorithm: "bcast/binomial".to_owned(),
                parameters: Parameters {
                    blocks: Some(place),
                    ..Parameters::default()
                },
            },
        };
        Rule::new(from_bytes, candidate, Some(1.5), Confidence::High)
    };
    (0..).zip(sizes).map(rule).collect()
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    btree_set(bytes(), 0..12).prop_map(|from| {
        let from = from.into_iter().filter(|from| *from > 0);
        rules_from([0].into_iter().chain(from))
    })
}

fn entry() -> impl Strategy<Value = ShapeRules> {
    let classes = (select(&OPERATORS[..]), select(&DEPLOYMENTS[..]));
    let ranks = (shape(), order());
    let entry = |((shape, order), (operators, deployments), rules)| ShapeRules {
        shape,
        order,
        operators,
        deployments,
        source: RuleSource::Measured,
        rules,
        measured: Vec::new(),
        candidates: Vec::new(),
    };
    (ranks, classes, rules()).prop_map(entry)
}

fn order() -> impl Strategy<Value = RankOrder> {
    use RankOrder::{Block, Cyclic, Other, Unknown};
    select(&[Block, Cyclic, Other, Unknown][..])
}

/// At most one entry of a collective holds for a call.
fn apart(entries: Vec<ShapeRules>) -> Vec<ShapeRules> {
    let mut kept: Vec<ShapeRules> = Vec::new();
    for entry in entries {
        let meets = |other: &ShapeRules| {
            other.shape == entry.shape
                && other.holds_for_order(entry.order)
                && other.operators.overlap(entry.operators)
                && other.deployments.overlap(entry.deployments)
        };
        if !kept.iter().any(meets) {
            kept.push(entry);
        }
    }
    kept
}

fn tables() -> impl Strategy<Value = Table> {
    let collectives = vec((select(&Collective::ALL[..]), vec(entry(), 1..8)), 0..6);
    collectives.prop_map(|collectives| Table {
        name: "random".to_owned(),
        verdicts: Vec::new(),
        nonblocking: None,
        provenance: provenance(),
        collectives: collectives
            .into_iter()
            .map(|(collective, entries)| (collective, apart(entries)))
            .collect::<BTreeMap<_, _>>(),
    })
}

/// The sizes that are left to the library are those around a size at which nothing of ours is chosen for any operator.
fn check_left_sizes(rules: &CommunicatorRules, sizes: &[u64]) {
    for collective in Collective::ALL {
        let is_ours = |bytes: u64| {
            let mut classes = OperatorClass::ALL.into_iter();
            classes.any(|class| rules.decide(collective, class, bytes).candidate.is_ours())
        };
        for &bytes in sizes {
            let Some(left) = rules.left_sizes(collective, bytes) else {
                assert!(is_ours(bytes), "{collective} {bytes}");
                continue;
            };
            assert!(left.contains(&bytes), "{collective} {bytes}: {left:?}");
            let within = sizes.iter().filter(|other| left.contains(other));
            for &other in within.chain([left.start(), left.end()]) {
                assert!(!is_ours(other), "{collective} {bytes}, {other}: {left:?}");
            }
            let before = left.start().checked_sub(1);
            let after = left.end().checked_add(1);
            for limit in [before, after].into_iter().flatten() {
                assert!(is_ours(limit), "{collective} {bytes}, {limit}: {left:?}");
            }
        }
    }
}

fn check(table: &Table, shape: CommShape, order: RankOrder, sizes: &[u64]) {
    let compiled = CommunicatorRules::new(table, shape, order, true);
    let of_measured = CommunicatorRules::new(table, shape, order, false);
    let limits = table.entries().flat_map(|entry| &entry.rules);
    let near = limits.flat_map(|rule| [rule.from_bytes.saturating_sub(1), rule.from_bytes]);
    let sizes: Vec<u64> = sizes.iter().copied().chain(near).collect();
    for rules in [&compiled, &of_measured] {
        check_left_sizes(rules, &sizes);
    }
    for collective in Collective::ALL {
        for operators in [OperatorClass::Commutative, OperatorClass::Noncommutative] {
            for &bytes in &sizes {
                let expected = table.lookup(&Query {
                    collective,
                    shape,
                    order,
                    bytes,
                    operators,
                    deployment: Deployment::Colltune,
                });
                let call = format!(
                    "{collective}, {shape} in {order} order, {bytes} bytes, {operators} operators"
                );
                let choice = compiled.decide(collective, operators, bytes);
                let decided = (&choice.candidate, choice.speedup);
                assert_eq!(decided, (expected.candidate, expected.speedup), "{call}");
                let measured_choice = of_measured.decide(collective, operators, bytes);
                let measured_decided = (&measured_choice.candidate, measured_choice.speedup);
                match expected.matched {
                    ShapeMatch::Measured | ShapeMatch::Model => {
                        assert_eq!(
                            measured_decided,
                            (expected.candidate, expected.speedup),
                            "{call}"
                        );
                    }
                    _ => assert_eq!(measured_decided, (&Candidate::Default, Some(1.0)), "{call}"),
                }
                for rules in [&compiled, &of_measured] {
                    assert_eq!(
                        rules.shape_match(collective, operators),
                        expected.matched,
                        "{call}"
                    );
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn compiled_rules_decide_as_the_table_does(
        table in tables(),
        shape in shape(),
        order in order(),
        sizes in vec(bytes(), 8),
    ) {
        check(&table, shape, order, &sizes);
    }
}

#[test]
fn every_size_is_found_in_its_range_however_close_they_are() {
    let shape = CommShape { nodes: 1, ppn: 2 };
    let check = |from: &[u64]| {
        let entry = ShapeRules {
            shape,
            order: RankOrder::Unknown,
            operators: Operators::Any,
            deployments: Deployments::Colltune,
            source: RuleSource::Measured,
            rules: rules_from(from.iter().copied()),
            measured: Vec::new(),
            candidates: Vec::new(),
        };
        let table = Table {
            name: "close".to_owned(),
            provenance: provenance(),
            collectives: BTreeMap::from([(Collective::Bcast, vec![entry])]),
            verdicts: Vec::new(),
            nonblocking: None,
        };
        let near = |bytes: u64| [bytes.saturating_sub(1), bytes, bytes.saturating_add(1)];
        let powers = (0..64).map(|power| 1 << power);
        let sizes = from.iter().copied().chain(powers).chain([0, u64::MAX]);
        check(
            &table,
            shape,
            RankOrder::Unknown,
            &sizes.flat_map(near).collect::<Vec<_>>(),
        );
    };
    check(&[0]);
    check(&[0, 1]);
    check(&[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    check(&[0, 1000, 1023, 1024, 1025, 1030, 2047, 2048]);
    check(&[0, u64::MAX]);
    let many: Vec<u64> = (0..1000).map(|place| place * place).collect();
    check(&many);
    check(&[0, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX]);
}
