//! The rules of a table that are deployed.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;
use schedule::Collective;
use table::{
    Confidence, Deployment, Deployments, Lack, MeasuredPoint, Operators, Policy, Rule, RulePlace,
    RuleSource, ShapeRules, Table, Usage, Withheld,
};
use vocabulary::{Candidate, CommShape, Library, Parameters, RankOrder};

use crate::round_trip::collectives;
use crate::sample::{ours, provenance};

fn policies() -> impl Strategy<Value = Policy> {
    let confidence = select(&[Confidence::Low, Confidence::Medium, Confidence::High][..]);
    (confidence, any::<bool>(), any::<bool>()).prop_map(
        |(min_confidence, unconfirmed, extrapolate)| Policy {
            min_confidence: Some(min_confidence),
            unconfirmed,
            extrapolate,
            ..Policy::default()
        },
    )
}

fn rule(from_bytes: u64, algorithm: &str, confidence: Confidence, confirmed: bool) -> Rule {
    let candidate = ours(algorithm, Parameters::default());
    Rule {
        confirmed,
        ..Rule::new(from_bytes, candidate, Some(2.0), confidence)
    }
}

fn default(from_bytes: u64, confidence: Confidence) -> Rule {
    Rule::new(from_bytes, Candidate::Default, None, confidence)
}

/// A table with one entry, of these rules, measured at powers of ten.
fn table(rules: Vec<Rule>) -> Table {
    let entry = ShapeRules {
        shape: CommShape { nodes: 1, ppn: 2 },
        order: RankOrder::Unknown,
        operators: Operators::Any,
        deployments: Deployments::Colltune,
        source: RuleSource::Measured,
        rules,
        candidates: Vec::new(),
        measured: [1, 10, 100, 1000, 10_000]
            .map(|bytes| MeasuredPoint::new(bytes, 1.0, 2.0))
            .to_vec(),
    };
    Table {
        name: "deployed".to_owned(),
        provenance: provenance(),
        collectives: BTreeMap::from([(Collective::Bcast, vec![entry])]),
        verdicts: Vec::new(),
        nonblocking: None,
    }
}

fn entry(table: &Table) -> &ShapeRules {
    &table.collectives[&Collective::Bcast][0]
}

/// The rules that are withheld, as sentences.
fn told(withheld: &[Withheld]) -> Vec<String> {
    withheld.iter().map(Withheld::to_string).collect()
}

#[test]
fn only_confirmed_rules_of_medium_confidence_are_deployed_by_default() {
    let high = Confidence::High;
    let table = table(vec![
        default(0, high),
        rule(10, "bcast/linear", high, false),
        rule(100, "bcast/binomial", Confidence::Low, true),
        rule(1000, "bcast/chain", Confidence::Medium, true),
        rule(10_000, "bcast/knomial", high, true),
    ]);
    let (deployed, withheld) = table.deployed_by(Policy::default());
    let rules = [
        default(0, high),
        default(10, Confidence::Low),
        rule(1000, "bcast/chain", Confidence::Medium, true),
        rule(10_000, "bcast/knomial", high, true),
    ];
    assert_eq!(entry(&deployed).rules, rules);
    let times = entry(&deployed).measured.iter().map(|point| point.seconds);
    assert_eq!(times.collect::<Vec<_>>(), [1.0, 2.0, 2.0, 1.0, 1.0]);
    assert_eq!(
        told(&withheld),
        [
            "bcast, 1x2, from 10 bytes: bcast/linear is not confirmed",
            "bcast, 1x2, from 100 bytes: bcast/binomial has low confidence",
        ]
    );
}

#[test]
fn a_policy_says_what_else_is_deployed() {
    let table = table(vec![
        rule(0, "bcast/linear", Confidence::High, false),
        rule(10, "bcast/binomial", Confidence::Low, true),
        rule(100, "bcast/chain", Confidence::Medium, true),
        rule(1000, "bcast/knomial", Confidence::Low, false),
    ]);
    let check = |min_confidence, unconfirmed, expected: &[u64]| {
        let policy = Policy {
            min_confidence: Some(min_confidence),
            unconfirmed,
            ..Policy::default()
        };
        let (deployed, withheld) = table.deployed_by(policy);
        let rules = entry(&deployed).rules.iter();
        let kept = rules.filter(|rule| rule.candidate != Candidate::Default);
        let kept: Vec<u64> = kept.map(|rule| rule.from_bytes).collect();
        assert_eq!(kept, expected, "{policy:?}");
        assert_eq!(withheld.len(), 4 - kept.len(), "{policy:?}");
        let usage = table.count_usage(policy, Deployment::Colltune);
        let counts = (usage.used, usage.unused_rules());
        assert_eq!(counts, (kept.len(), withheld.len()), "{policy:?}");
        assert_eq!(usage.is_all_unused(), expected.is_empty(), "{policy:?}");
    };
    check(Confidence::Low, true, &[0, 10, 100, 1000]);
    check(Confidence::Low, false, &[10, 100]);
    check(Confidence::Medium, true, &[0, 100]);
    check(Confidence::High, true, &[0]);
    check(Confidence::High, false, &[]);
    let usage = table.count_usage(Policy::default(), Deployment::Colltune);
    assert_eq!(
        usage.to_string(),
        "3 of 4 rules are not used: 2 are not confirmed, 1 lacks confidence"
    );
    let of_library = table.count_usage(Policy::default(), Deployment::Library);
    assert_eq!(of_library, Usage::default());
    assert!(!of_library.is_all_unused());
}

#[test]
fn rules_of_a_simulated_machine_are_deployed_only_on_request() {
    let mut table = table(vec![
        rule(0, "bcast/linear", Confidence::High, true),
        rule(10, "bcast/binomial", Confidence::Low, true),
    ]);
    table.provenance.library.name = Library::SIMULATED.to_owned();
    let lacks = |policy| {
        let withheld = table.deployed_by(policy).1.into_iter();
        withheld.map(|rule| rule.lack).collect::<Vec<_>>()
    };
    let low = Lack::Confidence(Confidence::Low);
    assert_eq!(lacks(Policy::default()), [Lack::Measurement; 2]);
    let unconfirmed = Policy {
        unconfirmed: true,
        ..Policy::default()
    };
    assert_eq!(lacks(unconfirmed), [low]);
    let usage = table.count_usage(Policy::default(), Deployment::Colltune);
    assert_eq!(
        usage.to_string(),
        "2 of 2 rules are not used: 2 are simulated"
    );
}

#[test]
fn neighbours_with_the_same_choice_keep_their_own_marks() {
    let confirmed = rule(0, "bcast/linear", Confidence::High, true);
    let table = table(vec![
        confirmed.clone(),
        rule(100, "bcast/linear", Confidence::High, false),
    ]);
    let (deployed, withheld) = table.deployed_by(Policy::default());
    let rules = [confirmed, default(100, Confidence::Low)];
    assert_eq!(entry(&deployed).rules, rules);
    assert_eq!(withheld.len(), 1);
}

/// The rule of an entry that holds at a size.
fn at(entry: &ShapeRules, bytes: u64) -> &Rule {
    let mut rules = entry.rules.iter().rev();
    let holds = rules.find(|rule| rule.from_bytes <= bytes);
    holds.expect("the first rule starts at 0")
}

/// The reasons why a rule is not deployed, as the documentation defines them.
fn lack(rule: &Rule, policy: Policy) -> Option<Lack> {
    let is_default = rule.candidate == Candidate::Default;
    if is_default
        || (policy.unconfirmed || rule.confirmed)
            && policy
                .min_confidence
                .is_some_and(|least| rule.confidence >= least)
    {
        None
    } else if rule.confirmed || policy.unconfirmed {
        Some(Lack::Confidence(rule.confidence))
    } else {
        Some(Lack::Confirmation)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_deployed_table_has_the_default_where_rules_are_withheld_and_is_the_same_elsewhere(
        collectives in collectives(),
        policy in policies(),
    ) {
        let table = Table { name: "t".to_owned(), provenance: provenance(), collectives, verdicts: Vec::new(), nonblocking: None };
        let (deployed, withheld) = table.deployed_by(policy);
        prop_assert_eq!(&deployed.name, &table.name);
        prop_assert_eq!(&deployed.provenance, &table.provenance);
        let mut expected = Vec::new();
        let mut same = BTreeMap::new();
        for (collective, entries) in &table.collectives {
            let others = &deployed.collectives[collective];
            prop_assert_eq!(others.len(), entries.len());
            let mut restored = Vec::new();
            for (entry, other) in entries.iter().zip(others) {
                for rule in &entry.rules {
                    let near = [rule.from_bytes, rule.from_bytes.saturating_sub(1)];
                    let points = entry.measured.iter().map(|point| point.bytes);
                    for bytes in near.into_iter().chain(points).chain([u64::MAX]) {
                        let (before, after) = (at(entry, bytes), at(other, bytes));
                        match lack(before, policy) {
                            None if before.candidate == Candidate::Default => {
                                prop_assert_eq!(&after.candidate, &Candidate::Default);
                                prop_assert_eq!(after.confidence, before.confidence);
                            }
                            None => prop_assert_eq!(after, before),
                            Some(_) => {
                                prop_assert_eq!(&after.candidate, &Candidate::Default);
                                prop_assert_eq!(after.confidence, Confidence::Low);
                                prop_assert!(!after.confirmed);
                            }
                        }
                    }
                    let place = RulePlace::Rule {
                        collective: *collective,
                        shape: entry.shape,
                        order: entry.order,
                        operators: entry.operators,
                        deployments: entry.deployments,
                        from_bytes: rule.from_bytes,
                    };
                    let candidate = rule.candidate.clone();
                    let lacking = lack(rule, policy);
                    expected.extend(lacking.map(|lack| Withheld { place, is_nonblocking: false, candidate, lack }));
                }
                for (before, after) in entry.measured.iter().zip(&other.measured) {
                    let is_kept = lack(at(entry, before.bytes), policy).is_none();
                    let wanted = if is_kept { *before } else { MeasuredPoint { seconds: before.default_seconds, speedup: 1.0, ..*before } };
                    prop_assert_eq!(*after, wanted);
                }
                // With the original rules and points it equals the original entry.
                restored.push(ShapeRules {
                    rules: entry.rules.clone(),
                    measured: entry.measured.clone(),
                    candidates: entry.candidates.clone(),
                    ..other.clone()
                });
                prop_assert_eq!(other.measured.len(), entry.measured.len());
            }
            same.insert(*collective, restored);
        }
        prop_assert_eq!(&same, &table.collectives);
        prop_assert_eq!(&withheld, &expected);

        let read = Table::parse(&deployed.to_yaml(), Path::new("t.yaml"));
        prop_assert_eq!(&read.expect("a deployed table is a table"), &deployed);
        prop_assert_eq!(deployed.deployed_by(policy), (deployed.clone(), Vec::new()));
    }
}
