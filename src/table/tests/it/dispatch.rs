//! What is compiled says what the table says.

use std::collections::BTreeMap;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;
use schedule::Collective;
use table::dispatch::CommunicatorRules;
use table::{
    Confidence, Deployment, Deployments, OperatorClass, Operators, Query, Rule, RuleSource,
    ShapeRules, Table,
};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder};

use crate::sample::provenance;

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

/// Candidates that can be told apart; nobody carries them out.
fn rules() -> impl Strategy<Value = Vec<Rule>> {
    btree_set(bytes(), 0..12).prop_map(|from| {
        let from = from.into_iter().filter(|from| *from > 0);
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
        (0..).zip([0].into_iter().chain(from)).map(rule).collect()
    })
}

fn entry() -> impl Strategy<Value = ShapeRules> {
    let classes = (select(&Operators::ALL[..]), select(&Deployments::ALL[..]));
    let ranks = (shape(), order());
    let entry = |((shape, order), (operators, deployments), rules)| ShapeRules {
        shape,
        order,
        operators,
        deployments,
        source: RuleSource::Measured,
        rules,
        measured: Vec::new(),
    };
    (ranks, classes, rules()).prop_map(entry)
}

fn order() -> impl Strategy<Value = RankOrder> {
    use RankOrder::{Block, Cyclic, Other, Unknown};
    select(&[Block, Cyclic, Other, Unknown][..])
}

/// No two entries of a collective hold for the same call.
fn apart(entries: Vec<ShapeRules>) -> Vec<ShapeRules> {
    let mut kept: Vec<ShapeRules> = Vec::new();
    for entry in entries {
        let meets = |other: &ShapeRules| {
            other.shape == entry.shape
                && other.is_in(entry.order)
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
    let collectives = vec(
        (select(&Collective::MEASURED[..]), vec(entry(), 1..8)),
        0..6,
    );
    collectives.prop_map(|collectives| Table {
        name: "random".to_owned(),
        provenance: provenance(),
        collectives: collectives
            .into_iter()
            .map(|(collective, entries)| (collective, apart(entries)))
            .collect::<BTreeMap<_, _>>(),
    })
}

fn check(table: &Table, shape: CommShape, order: RankOrder, sizes: &[u64]) {
    let compiled = CommunicatorRules::new(table, shape, order);
    let limits = table.entries().flat_map(|entry| &entry.rules);
    let near = limits.flat_map(|rule| [rule.from_bytes.saturating_sub(1), rule.from_bytes]);
    let sizes: Vec<u64> = sizes.iter().copied().chain(near).collect();
    for collective in Collective::MEASURED {
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
                let choice = compiled.decide(collective, operators, bytes);
                assert_eq!(
                    (&choice.candidate, choice.speedup),
                    (expected.candidate, expected.speedup),
                    "{collective}, {shape} in {order} order, {bytes} bytes, {operators} operators"
                );
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
