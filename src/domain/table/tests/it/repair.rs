//! Turning decisions back to the default.

use std::ops::Range;

use table::{Confidence, Deployments, MeasuredPoint, Operators, Rule, RuleSource, ShapeRules};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder};

fn native(name: &str) -> Candidate {
    Candidate::Native {
        algorithm: name.to_owned(),
        parameters: Parameters::default(),
    }
}

/// The default, from 100 on one candidate, from 1000 on another one.
fn entry() -> ShapeRules {
    let rule = |from, candidate| Rule::new(from, candidate, Some(2.0), Confidence::High);
    ShapeRules {
        shape: CommShape { nodes: 1, ppn: 2 },
        order: RankOrder::Unknown,
        operators: Operators::Any,
        deployments: Deployments::Any,
        source: RuleSource::Measured,
        rules: vec![
            Rule::new(0, Candidate::Default, None, Confidence::High),
            rule(100, native("a")),
            rule(1000, native("b")),
        ],
        candidates: Vec::new(),
        measured: [64, 512, 4096]
            .map(|b| MeasuredPoint::new(b, 1.0, 2.0))
            .to_vec(),
    }
}

fn check(sizes: Range<u64>, expected: &[(u64, &str)], defaults: &[u64]) {
    let mut found = entry();
    found.turn_back_sizes(&sizes);
    let name = |rule: &Rule| (rule.from_bytes, rule.candidate.to_string());
    let rules: Vec<_> = found.rules.iter().map(name).collect();
    let rules: Vec<_> = rules
        .iter()
        .map(|(from, candidate)| (*from, candidate.as_str()))
        .collect();
    assert_eq!(rules, expected, "{sizes:?}");
    let kept = found.measured.iter().filter(|point| point.seconds == 2.0);
    assert_eq!(
        kept.map(|point| point.bytes).collect::<Vec<_>>(),
        defaults,
        "{sizes:?}"
    );
}

#[test]
fn rules_are_cut_at_both_ends_of_the_range() {
    let end = u64::MAX;
    check(
        300..700,
        &[
            (0, "default"),
            (100, "a"),
            (300, "default"),
            (700, "a"),
            (1000, "b"),
        ],
        &[512],
    );
    check(100..1000, &[(0, "default"), (1000, "b")], &[512]);
    check(
        1000..end,
        &[(0, "default"), (100, "a"), (1000, "default")],
        &[4096],
    );
    check(
        500..2000,
        &[(0, "default"), (100, "a"), (500, "default"), (2000, "b")],
        &[512],
    );
    check(0..end, &[(0, "default")], &[64, 512, 4096]);
    check(7..7, &[(0, "default"), (100, "a"), (1000, "b")], &[]);
}

#[test]
fn merged_rules_are_as_certain_as_the_less_certain() {
    let mut found = entry();
    found.turn_back_sizes(&(100..1000));
    assert_eq!(found.rules[0].confidence, Confidence::Medium);
}
