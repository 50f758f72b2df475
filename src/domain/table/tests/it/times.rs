//! Expected times, at measured sizes and at others.

use std::collections::BTreeMap;

use schedule::Collective;
use table::{
    Confidence, DecisionJson, Deployment, Deployments, MeasuredPoint, OperatorClass, Operators,
    Query, Rule, RuleSource, ShapeRules, Table,
};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder};

use crate::sample::{ours, provenance};

const A: &str = "allreduce/ring";
const B: &str = "allreduce/dual_root";

fn point(bytes: u64, seconds: f64, default_seconds: f64) -> MeasuredPoint {
    MeasuredPoint {
        bytes,
        seconds,
        default_seconds,
        speedup: default_seconds / seconds,
    }
}

/// A rule from a size on: of the default, or of an algorithm with this speed-up.
fn rule(from_bytes: u64, algorithm: Option<(&str, Option<f64>)>) -> Rule {
    let candidate = |name| ours(name, Parameters::default());
    Rule {
        from_bytes,
        candidate: algorithm.map_or(Candidate::Default, |(name, _)| candidate(name)),
        speedup: algorithm.and_then(|(_, speedup)| speedup),
        confidence: Confidence::High,
        confirmed: false,
        refuted: false,
    }
}

/// The decision of a table with these rules and times.
fn ask(rules: &[Rule], measured: &[MeasuredPoint], bytes: u64) -> DecisionJson {
    let shape = CommShape { nodes: 1, ppn: 2 };
    let entry = ShapeRules {
        order: RankOrder::Unknown,
        shape,
        operators: Operators::Any,
        deployments: Deployments::Colltune,
        source: RuleSource::Measured,
        rules: rules.to_vec(),
        measured: measured.to_vec(),
        candidates: Vec::new(),
    };
    let table = Table {
        verdicts: Vec::new(),
        nonblocking: None,
        name: "times".to_owned(),
        provenance: provenance(),
        collectives: BTreeMap::from([(Collective::Allreduce, vec![entry])]),
    };
    let query = Query {
        order: RankOrder::Unknown,
        collective: Collective::Allreduce,
        shape,
        bytes,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
    };
    table.lookup(&query).to_json()
}

/// The times of the candidate and of the default, and whether the size lies beyond the measured ones.
fn times(
    rules: &[Rule],
    measured: &[MeasuredPoint],
    bytes: u64,
) -> (Option<f64>, Option<f64>, bool) {
    let decision = ask(rules, measured, bytes);
    let is_beyond = decision.confidence != Confidence::High;
    (
        decision.expected_seconds,
        decision.default_seconds,
        is_beyond,
    )
}

fn check(
    rules: &[Rule],
    measured: &[MeasuredPoint],
    bytes: u64,
    seconds: impl Into<Option<f64>>,
    default_seconds: f64,
    beyond: bool,
) {
    let answer = times(rules, measured, bytes);
    let near = |found: Option<f64>, expected: Option<f64>| match (found, expected) {
        (Some(found), Some(expected)) => (found / expected - 1.0).abs() < 1e-12,
        (found, expected) => found == expected,
    };
    assert!(near(answer.0, seconds.into()), "{bytes} bytes: {answer:?}");
    let default_seconds = Some(default_seconds);
    assert!(near(answer.1, default_seconds), "{bytes} bytes: {answer:?}");
    assert_eq!(answer.2, beyond, "{bytes} bytes");
}

#[test]
fn between_and_beyond_points_of_one_rule() {
    let check = |bytes, seconds: f64, default_seconds, beyond| {
        let points = [point(0, 1.0, 1.0), point(16, 2.0, 4.0), point(64, 8.0, 4.0)];
        let rules = [rule(0, Some((A, Some(7.0))))];
        check(&rules, &points, bytes, seconds, default_seconds, beyond);
    };
    check(0, 1.0, 1.0, false);
    check(1, 1.0, 1.0, false);
    check(4, 2.0_f64.sqrt(), 2.0, false);
    check(16, 2.0, 4.0, false);
    check(32, 4.0, 4.0, false);
    check(64, 8.0, 4.0, false);
    check(65, 8.125, 4.0625, true);
    check(128, 16.0, 8.0, true);
}

#[test]
fn below_the_smallest_and_without_points() {
    let rules = [rule(0, Some((A, None)))];
    let points = [point(8, 3.0, 5.0)];
    check(&rules, &points, 0, 3.0, 5.0, false);
    check(&rules, &points, 8, 3.0, 5.0, false);
    assert_eq!(times(&rules, &[], 8), (None, None, false));
}

/// At 512 bytes A takes 1 and the default 2; at 8192 bytes B takes 16 and the default 32 * 4.
#[test]
fn candidates_are_not_mixed_where_the_rule_changes() {
    let points = [point(512, 1.0, 2.0), point(8192, 16.0, 128.0)];
    let rules = [
        rule(0, Some((A, Some(3.0)))),
        rule(1024, Some((B, Some(3.0)))),
    ];
    let check = |bytes, seconds: f64, default_seconds| {
        check(&rules, &points, bytes, seconds, default_seconds, false);
    };
    check(256, 1.0, 2.0);
    check(512, 1.0, 2.0);
    // The default's time grows by 2^(6/4) with every doubling of the size.
    let growth = |doublings: f64| 2.0 * (1.5 * doublings).exp2();
    check(
        1023,
        growth((1023.0 / 512.0_f64).log2()) / 2.0,
        growth((1023.0 / 512.0_f64).log2()),
    );
    check(1024, growth(1.0) / 8.0, growth(1.0));
    check(4096, growth(3.0) / 8.0, growth(3.0));
    check(8192, 16.0, 128.0);
}

#[test]
fn a_rule_without_points_uses_its_own_speedup() {
    let points = [point(512, 1.0, 2.0), point(2048, 8.0, 8.0)];
    let with = |speedup| {
        [
            rule(0, Some((A, Some(9.0)))),
            rule(1024, Some((B, speedup))),
            rule(2048, None),
            rule(4096, Some((B, speedup))),
        ]
    };
    let check = |speedup, bytes, seconds: Option<f64>, default_seconds, beyond| {
        check(
            &with(speedup),
            &points,
            bytes,
            seconds,
            default_seconds,
            beyond,
        );
    };
    check(Some(2.0), 1024, Some(2.0), 4.0, false);
    check(None, 1024, None, 4.0, false);
    // Beyond the largest size, too, the candidate that was measured there matters.
    check(Some(2.0), 4096, Some(8.0), 16.0, true);
    check(None, 4096, None, 16.0, true);
    check(None, 3072, Some(12.0), 12.0, true);
}

#[test]
fn below_the_smallest_size_of_another_rule() {
    let points = [point(2048, 8.0, 16.0)];
    let rules = [
        rule(0, Some((A, Some(4.0)))),
        rule(1024, Some((B, Some(2.0)))),
    ];
    check(&rules, &points, 8, 4.0, 16.0, false);
    check(&rules, &points, 1024, 8.0, 16.0, false);
    let from_default = [rule(0, None), rule(1024, Some((B, Some(2.0))))];
    check(&from_default, &points, 8, 16.0, 16.0, false);
}

/// A point has the ratio that decided, which may differ from the ratio of its times.
#[test]
fn the_speedup_is_the_one_that_decided() {
    let rules = [rule(0, None), rule(100, Some((A, Some(3.0))))];
    let paired = |bytes, speedup| point(bytes, 1.0, 2.0).with_speedup(speedup);
    let measured = [point(64, 1.0, 1.0), paired(100, 3.0), paired(400, 12.0)];
    let speedup = |bytes| ask(&rules, &measured, bytes).speedup.expect("known");
    for (bytes, expected) in [(64, 1.0), (100, 3.0), (200, 6.0), (400, 12.0), (4000, 12.0)] {
        let found = speedup(bytes);
        assert!(
            (found / expected - 1.0).abs() < 1e-9,
            "{bytes} bytes: {found}"
        );
    }
}
