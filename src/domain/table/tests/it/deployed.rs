//! The reasons why decisions are not deployed.

use schedule::Collective;
use table::{Confidence, Deployment, OperatorClass, Policy, Query, Table};
use vocabulary::{CommShape, RankOrder};

use crate::sample;

/// The sample; its rules of allreduce on 1x2 are the default, a confirmed one of some confidence, and an unconfirmed
/// one.
fn table(confidence: Confidence) -> Table {
    let mut table = sample::table();
    let entries = table.collectives.get_mut(&Collective::Allreduce);
    let rules = &mut entries.expect("allreduce")[0].rules;
    rules[1].confirmed = true;
    rules[1].confidence = confidence;
    rules[2].confirmed = false;
    rules[2].confidence = Confidence::High;
    table
}

fn reason(table: &Table, nodes: u32, bytes: u64, policy: Policy) -> Option<String> {
    let decision = table.lookup(&Query {
        collective: Collective::Allreduce,
        shape: CommShape { nodes, ppn: 2 },
        order: RankOrder::Unknown,
        bytes,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
    });
    if policy == Policy::default() {
        let json = decision.to_json();
        assert_eq!(json.deployed, json.reason.is_none());
        assert_eq!(json.reason, decision.reason_withheld(policy));
    }
    decision.reason_withheld(policy)
}

#[test]
fn a_decision_has_the_reason_why_it_is_not_deployed() {
    let default = Policy::default();
    let check = |confidence, bytes, policy, expected: Option<&str>| {
        let found = reason(&table(confidence), 1, bytes, policy);
        assert_eq!(
            found.as_deref(),
            expected,
            "{confidence}, {bytes} bytes, {policy:?}"
        );
    };
    let (low, medium) = (Confidence::Low, Confidence::Medium);
    // The default is always deployed.
    check(low, 0, default, None);
    check(medium, 1 << 16, default, None);
    check(low, 1 << 16, default, Some("low confidence"));
    check(medium, 1 << 20, default, Some("not confirmed"));
    let unconfirmed = Policy {
        unconfirmed: true,
        ..default
    };
    check(medium, 1 << 20, unconfirmed, None);
    let min_confidence = Some(Confidence::High);
    check(
        medium,
        1 << 16,
        Policy {
            min_confidence,
            ..default
        },
        Some("medium confidence"),
    );
    // Decisions beyond the measured sizes are deployed if their rule is.
    let beyond = Policy {
        min_confidence,
        unconfirmed: true,
        ..default
    };
    check(medium, 1 << 30, beyond, None);
}

#[test]
fn a_shape_that_was_not_measured_is_a_reason() {
    let table = table(Confidence::High);
    let default = Policy::default();
    assert_eq!(
        reason(&table, 2, 1 << 16, default).as_deref(),
        Some("the shape was not measured")
    );
    let extrapolate = Policy {
        extrapolate: true,
        ..default
    };
    assert_eq!(reason(&table, 2, 1 << 16, extrapolate), None);
}

/// The reason in a decision agrees with the rules of the deployed table.
#[test]
fn decisions_that_are_not_deployed_are_absent_from_the_deployed_table() {
    for confidence in [Confidence::Low, Confidence::Medium, Confidence::High] {
        let table = table(confidence);
        let (deployed, _) = table.deployed_by(Policy::default());
        for bytes in [0, 1499, 1500, 1 << 16, (1 << 20) - 1, 1 << 20, 1 << 30] {
            let query = Query {
                collective: Collective::Allreduce,
                shape: CommShape { nodes: 1, ppn: 2 },
                order: RankOrder::Unknown,
                bytes,
                operators: OperatorClass::Commutative,
                deployment: Deployment::Colltune,
            };
            let (before, after) = (table.lookup(&query), deployed.lookup(&query));
            let is_kept = before.candidate == after.candidate;
            let is_withheld = before.reason_withheld(Policy::default()).is_some();
            assert_eq!(is_kept, !is_withheld, "{confidence}, {bytes} bytes");
        }
    }
}
