//! Answers of tables.

use schedule::Collective;
use table::{
    Confidence, Decision, Deployment, Deployments, OperatorClass, Operators, Query, Rule,
    ShapeRules, Table,
};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder};

use crate::sample;

fn ask(table: &Table, collective: Collective, shape: (u32, u32), bytes: u64) -> Decision<'_> {
    table.lookup(&Query {
        collective,
        shape: CommShape {
            nodes: shape.0,
            ppn: shape.1,
        },
        order: RankOrder::Unknown,
        bytes,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
    })
}

#[test]
fn a_rule_holds_up_to_the_next() {
    let table = sample::table();
    let check = |bytes: u64, candidate: &str, rule: &str| {
        let decision = ask(&table, Collective::Allreduce, (1, 2), bytes);
        assert_eq!(decision.candidate.to_string(), candidate, "{bytes} bytes");
        assert_eq!(decision.rule.to_string(), rule, "{bytes} bytes");
        assert_eq!(decision.matched.to_string(), "measured");
    };
    let dual_root = "allreduce/dual_root[block_bytes=64K]";
    let composed = "allreduce/reduce_broadcast[block_bytes=8K,reduce=binomial,bcast=chain]";
    for bytes in [0, 1, 1499] {
        check(bytes, "default", "allreduce, 1x2, from 0 bytes");
    }
    for bytes in [1500, 1501, (1 << 20) - 1] {
        check(bytes, dual_root, "allreduce, 1x2, from 1500 bytes");
    }
    for bytes in [1 << 20, u64::MAX] {
        check(bytes, composed, "allreduce, 1x2, from 1048576 bytes");
    }
}

#[test]
fn operator_classes_are_distinguished() {
    let table = sample::table();
    let check = |collective, operators, candidate: &str, rule: &str| {
        let shape = CommShape { nodes: 4, ppn: 2 };
        let decision = table.lookup(&Query {
            collective,
            shape,
            order: RankOrder::Unknown,
            bytes: 200,
            operators,
            deployment: Deployment::Colltune,
        });
        assert_eq!(decision.candidate.to_string(), candidate);
        assert_eq!(decision.rule.to_string(), rule);
    };
    use OperatorClass::{Commutative, Noncommutative};
    let rule = "allreduce, 4x2, commutative operators, from 0 bytes";
    check(Collective::Allreduce, Commutative, "allreduce/ring", rule);
    let noncommutative = "allreduce, 4x2, noncommutative operators, from 0 bytes";
    check(
        Collective::Allreduce,
        Noncommutative,
        "default",
        noncommutative,
    );
    // A broadcast has no operator.
    check(
        Collective::Bcast,
        Noncommutative,
        "bcast/chain[blocks=4]",
        "bcast, 1x2, from 100 bytes",
    );
    let no_rule = "no rule for reduce with noncommutative operators";
    check(Collective::Reduce, Noncommutative, "default", no_rule);
}

/// A table with entries for the given shapes only.
fn with_shapes(shapes: &[(u32, u32)]) -> Table {
    let mut table = sample::table();
    let entries = table
        .collectives
        .get_mut(&Collective::Bcast)
        .expect("bcast");
    let model = entries[0].clone();
    *entries = shapes
        .iter()
        .map(|&(nodes, ppn)| {
            let mut entry = model.clone();
            entry.shape = CommShape { nodes, ppn };
            entry
        })
        .collect();
    table
}

#[test]
fn the_nearest_shape_answers_for_an_unmeasured_one() {
    let table = with_shapes(&[(8, 2), (2, 4), (2, 32), (8, 16), (2, 1)]);
    let cases = [
        ((2, 4), "measured"),
        ((2, 5), "nearest 2x4"),
        ((2, 31), "nearest 2x32"),
        ((2, 1000), "nearest 2x32"),
        ((7, 4), "nearest 8x2"),
        ((8, 4), "nearest 8x2"),
        ((4096, 64), "nearest 8x16"),
        ((8, 1), "nearest 8x2"),
        ((1, 3), "nearest 2x4"),
        ((1, 1), "nearest 2x1"),
    ];
    for (shape, matched) in cases {
        let decision = ask(&table, Collective::Bcast, shape, 4096);
        assert_eq!(decision.matched.to_string(), matched, "{shape:?}");
        let expected = if matched == "measured" {
            Confidence::Medium
        } else {
            Confidence::Low
        };
        assert_eq!(decision.confidence, expected, "{shape:?}");
        assert!(decision.expected_seconds.is_some(), "{shape:?}");
    }
}

#[test]
fn powers_of_two_ranks_answer_for_each_other() {
    let table = with_shapes(&[(2, 1), (3, 1), (4, 1), (6, 1), (16, 1)]);
    let cases = [
        ((5, 1), 6),
        ((7, 1), 6),
        ((15, 1), 6),
        ((8, 1), 4),
        ((9, 2), 6),
        ((32, 4), 16),
    ];
    for ((nodes, ppn), stand_in) in cases {
        let decision = ask(&table, Collective::Bcast, (nodes, ppn), 4096);
        assert_eq!(
            decision.matched.to_string(),
            format!("nearest {stand_in}x1"),
            "{nodes}x{ppn}"
        );
    }
}

#[test]
fn the_order_of_entries_does_not_matter() {
    let shapes = [(8, 2), (2, 4), (2, 32), (8, 16), (2, 1)];
    let reversed: Vec<_> = shapes.iter().rev().copied().collect();
    let (forth, back) = (with_shapes(&shapes), with_shapes(&reversed));
    for nodes in 1..10 {
        for ppn in 1..40 {
            let a = ask(&forth, Collective::Bcast, (nodes, ppn), 64);
            let b = ask(&back, Collective::Bcast, (nodes, ppn), 64);
            assert_eq!(a, b, "{nodes}x{ppn}");
        }
    }
}

#[test]
fn calls_without_a_rule_get_the_default() {
    let table = sample::table();
    let decision = ask(&table, Collective::Reduce, (1, 2), 64);
    assert_eq!(decision.candidate.to_string(), "default");
    assert_eq!(decision.expected_seconds, None);
    assert_eq!(decision.default_seconds, None);
    assert_eq!(decision.confidence, Confidence::Low);
    assert_eq!(decision.matched.to_string(), "none");
}

#[test]
fn confidence_falls_beyond_the_measured_sizes() {
    let table = sample::table();
    let confidence = |bytes| ask(&table, Collective::Allreduce, (1, 2), bytes).confidence;
    assert_eq!(confidence(1), Confidence::High);
    assert_eq!(confidence(4 << 20), Confidence::Medium);
    assert_eq!(confidence((4 << 20) + 1), Confidence::Low);
}

#[test]
fn speedup_comes_from_times_else_from_the_rule() {
    let mut table = sample::table();
    let near = |found: Option<f64>, expected: f64| {
        assert!(
            found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-3),
            "{found:?}"
        );
    };
    near(
        ask(&table, Collective::Allreduce, (1, 2), 4096).speedup,
        1.25,
    );
    near(ask(&table, Collective::Allreduce, (1, 2), 64).speedup, 1.0);
    let entries = table
        .collectives
        .get_mut(&Collective::Allreduce)
        .expect("allreduce");
    entries[0].measured.clear();
    let decision = ask(&table, Collective::Allreduce, (1, 2), 4096);
    near(decision.speedup, 1.32);
    assert_eq!(decision.expected_seconds, None);
}

#[test]
fn json_has_stable_keys() {
    let table = sample::table();
    let decision = ask(&table, Collective::Allreduce, (1, 2), 32768);
    insta::assert_json_snapshot!(decision.to_json(), @r#"
    {
      "collective": "allreduce",
      "nodes": 1,
      "ppn": 2,
      "bytes": 32768,
      "operator": "commutative",
      "deployment": "colltune",
      "candidate": "allreduce/dual_root[block_bytes=64K]",
      "algorithm": "dual_root",
      "parameters": {
        "block_bytes": 65536
      },
      "bracketed_by": [],
      "depth": 1,
      "expected_seconds": 0.000004354,
      "default_seconds": 0.000005442,
      "times_of": null,
      "speedup": 1.2498851630684427,
      "confidence": "high",
      "confirmed": false,
      "deployed": false,
      "reason": "not confirmed",
      "rule": "allreduce, 1x2, from 1500 bytes",
      "shape": "measured"
    }
    "#);
    let of_nearest = ask(&table, Collective::Bcast, (3, 1), 8);
    insta::assert_json_snapshot!(of_nearest.to_json(), @r#"
    {
      "collective": "bcast",
      "nodes": 3,
      "ppn": 1,
      "bytes": 8,
      "deployment": "colltune",
      "candidate": "default",
      "algorithm": "default",
      "parameters": {},
      "bracketed_by": null,
      "depth": null,
      "expected_seconds": 0.000000311,
      "default_seconds": 0.000000311,
      "times_of": "1x2",
      "speedup": 1.0,
      "confidence": "low",
      "confirmed": false,
      "deployed": true,
      "reason": null,
      "rule": "bcast, 1x2, from 0 bytes",
      "shape": "nearest 1x2"
    }
    "#);
    let without_rule = ask(&table, Collective::Reduce, (1, 2), 8);
    insta::assert_json_snapshot!(without_rule.to_json(), @r#"
    {
      "collective": "reduce",
      "nodes": 1,
      "ppn": 2,
      "bytes": 8,
      "operator": "commutative",
      "deployment": "colltune",
      "candidate": "default",
      "algorithm": "default",
      "parameters": {},
      "bracketed_by": null,
      "depth": null,
      "expected_seconds": null,
      "default_seconds": null,
      "times_of": null,
      "speedup": 1.0,
      "confidence": "low",
      "confirmed": false,
      "deployed": true,
      "reason": null,
      "rule": "no rule for reduce with commutative operators",
      "shape": "none"
    }
    "#);
}

#[test]
fn rules_of_another_order_count_as_those_of_another_shape() {
    use RankOrder::{Block, Cyclic, Other, Unknown};
    let entry = |(nodes, ppn), order, blocks| ShapeRules {
        shape: CommShape { nodes, ppn },
        order,
        operators: Operators::Any,
        deployments: Deployments::Colltune,
        source: table::RuleSource::Measured,
        rules: vec![Rule::new(
            0,
            sample::ours(
                "bcast/chain",
                Parameters {
                    blocks: Some(blocks),
                    ..Parameters::default()
                },
            ),
            Some(1.5),
            Confidence::High,
        )],
        measured: Vec::new(),
        candidates: Vec::new(),
    };
    let check = |entries: &[ShapeRules], (nodes, ppn), order, blocks: u32, matched: &str| {
        let mut table = sample::table();
        table
            .collectives
            .insert(Collective::Bcast, entries.to_vec());
        let decision = table.lookup(&Query {
            collective: Collective::Bcast,
            shape: CommShape { nodes, ppn },
            order,
            bytes: 64,
            operators: OperatorClass::Commutative,
            deployment: Deployment::Colltune,
        });
        assert_eq!(decision.candidate.parameters().blocks, Some(blocks));
        assert_eq!(decision.matched.to_string(), matched);
        let confidence = match matched {
            "measured" => Confidence::High,
            _ => Confidence::Low,
        };
        assert_eq!(decision.confidence, confidence);
    };
    let in_block = entry((4, 4), Block, 1);
    let entries = [in_block.clone()];
    check(&entries, (4, 4), Block, 1, "measured");
    check(&entries, (4, 4), Unknown, 1, "measured");
    let stand_in = "nearest 4x4 with ranks in block order";
    check(&entries, (4, 4), Cyclic, 1, stand_in);
    check(&entries, (4, 4), Other, 1, stand_in);
    check(&entries, (8, 4), Cyclic, 1, stand_in);
    check(&entries, (8, 4), Block, 1, "nearest 4x4");
    // With one rank on each node, or with one node, every order is block order.
    let lonely = [entry((4, 1), Block, 2), entry((1, 4), Cyclic, 3)];
    check(&lonely, (4, 1), Cyclic, 2, "measured");
    check(&lonely, (1, 4), Block, 3, "measured");
    // The order counts before the number of nodes and whether ranks are a power of two.
    let with_cyclic = [in_block, entry((3, 3), Cyclic, 4)];
    check(&with_cyclic, (4, 4), Cyclic, 4, "nearest 3x3");
    // Both orders of one shape; if no order is requested, the first entry answers.
    let both_orders = [entry((4, 4), Cyclic, 5), entry((4, 4), Block, 6)];
    check(&both_orders, (4, 4), Cyclic, 5, "measured");
    check(&both_orders, (4, 4), Block, 6, "measured");
    check(&both_orders, (4, 4), Unknown, 5, "measured");
    // Old tables have no orders.
    let old = [entry((4, 4), Unknown, 7)];
    for order in [Block, Cyclic, Other, Unknown] {
        check(&old, (4, 4), order, 7, "measured");
    }
}

#[test]
fn deployments_are_distinguished() {
    let entry = |deployments, name: &str| ShapeRules {
        shape: CommShape { nodes: 1, ppn: 2 },
        order: RankOrder::Unknown,
        operators: Operators::Any,
        deployments,
        source: table::RuleSource::Measured,
        rules: vec![Rule::new(0, native(name), Some(1.5), Confidence::High)],
        measured: Vec::new(),
        candidates: Vec::new(),
    };
    let mut table = sample::table();
    let ask = |asked: &Table, collective, deployment| {
        let decision = asked.lookup(&Query {
            collective,
            shape: CommShape { nodes: 1, ppn: 2 },
            order: RankOrder::Unknown,
            bytes: 64,
            operators: OperatorClass::Commutative,
            deployment,
        });
        (
            decision.candidate.id().to_owned(),
            decision.rule.to_string(),
        )
    };
    let check = |asked: &Table, collective, deployment, id: &str, rule: &str| {
        let found = ask(asked, collective, deployment);
        assert_eq!(found, (id.to_owned(), rule.to_owned()));
    };
    use Deployment::{Colltune, Library};
    let rule = "no rule for allreduce with commutative operators by the library's own settings";
    check(&table, Collective::Allreduce, Library, "default", rule);
    table.collectives.insert(
        Collective::Bcast,
        vec![
            entry(Deployments::Colltune, "knomial"),
            entry(Deployments::Library, "chain"),
        ],
    );
    let colltune_rule = "bcast, 1x2, from 0 bytes";
    check(
        &table,
        Collective::Bcast,
        Colltune,
        "knomial",
        colltune_rule,
    );
    let library_rule = "bcast, 1x2, library deployment, from 0 bytes";
    check(&table, Collective::Bcast, Library, "chain", library_rule);
    let both = vec![entry(Deployments::Any, "pipeline")];
    table.collectives.insert(Collective::Bcast, both);
    let any_rule = "bcast, 1x2, any deployment, from 0 bytes";
    for deployment in Deployment::ALL {
        check(&table, Collective::Bcast, deployment, "pipeline", any_rule);
    }
    let text = table.to_yaml();
    assert!(text.contains("        deployment: any\n"), "{text}");
    assert_eq!(
        Table::parse(&text, "t.yaml".as_ref()).expect("valid"),
        table
    );
}

fn native(id: &str) -> Candidate {
    Candidate::Native {
        algorithm: format!("native:bcast/{id}"),
        parameters: Parameters::default(),
    }
}
