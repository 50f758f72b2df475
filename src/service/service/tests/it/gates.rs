//! Gates of releases.

use service::{Gate, GateState, ReleaseAction, ReleaseRequest, Scope, ServiceError};

use crate::bed::{Bed, actor, asking, choosing, production, table};

use ReleaseAction::{Release, Rollback};

fn closed(gates: &[Gate]) -> Vec<&str> {
    let closed = gates.iter().filter(|gate| !gate.is_open());
    closed.map(|gate| &*gate.name).collect()
}

/// Adds a table, with a validation (its age in days, and the number of slower points) if one is given, and checks the
/// closed gates and their reasons.
#[track_caller]
fn check_gates(
    bed: &Bed,
    text: &str,
    validation: Option<(i64, u32)>,
    expected: &[&str],
    said: &[&str],
) {
    let digest = bed.added(text);
    if let Some((days, slower)) = validation {
        bed.validate(&digest, days, slower);
    }
    let gates = bed
        .service()
        .evaluate_gates(&production(), &digest)
        .expect("gates");
    assert_eq!(gates.len(), 5);
    assert_eq!(closed(&gates), expected, "{gates:?}");
    let reasons: Vec<String> = gates.iter().map(Gate::to_string).collect();
    for phrase in said {
        assert!(
            reasons.iter().any(|reason| reason.contains(phrase)),
            "{phrase}: {reasons:#?}"
        );
    }
}

#[test]
fn closed_gates_give_a_reason_and_a_remedy() {
    let bed = Bed::new();
    let fresh = Some((0, 0));
    check_gates(
        &bed,
        &choosing("chain"),
        fresh,
        &[],
        &["1 rule", "none of 10 points", "no table to compare"],
    );
    check_gates(
        &bed,
        &choosing("binary"),
        None,
        &["validated"],
        &["submit a task `validate`"],
    );
    check_gates(&bed, &choosing("pipeline"), Some((29, 0)), &[], &[]);
    check_gates(
        &bed,
        &choosing("binomial"),
        Some((31, 0)),
        &["validated"],
        &["more than 30 days old"],
    );
    check_gates(
        &bed,
        &choosing("linear"),
        Some((0, 2)),
        &["validated"],
        &["2 of 10 points significantly slower", "tune again"],
    );
    let unconfirmed = table("night", "chain", "confirmed: false");
    check_gates(
        &bed,
        &unconfirmed,
        fresh,
        &["readable", "confirmed"],
        &[
            "the table has 1 rule, none of which is used",
            "tune with `confirmation: on`",
            "native:bcast/chain is not confirmed",
        ],
    );
    let imported = unconfirmed.replace("launches: 6", "launches: 0");
    assert_ne!(imported, unconfirmed);
    check_gates(
        &bed,
        &imported,
        fresh,
        &["readable", "confirmed"],
        &["measure them with `colltune validate TABLE --confirm`"],
    );
    check_gates(
        &bed,
        &unconfirmed.replace("name: openmpi", "name: simulated"),
        fresh,
        &["readable", "library", "confirmed"],
        &[
            "tune on the machine itself",
            "native:bcast/chain is simulated",
        ],
    );
    let nothing = choosing("chain")
        .replace("native:bcast/chain", "default")
        .replace("speedup: 2.0, ", "")
        .replace(", confirmed: true", "");
    check_gates(
        &bed,
        &nothing,
        fresh,
        &["readable"],
        &["the library's default everywhere"],
    );
    let other = choosing("chain").replace("4.1.4", "4.1.5");
    check_gates(
        &bed,
        &other,
        fresh,
        &["library"],
        &["made for openmpi-4.1.5 and the channel is for openmpi-4.1.4"],
    );
}

/// The newest validation counts, whatever the results of earlier ones.
#[test]
fn the_newest_validation_counts() {
    let bed = Bed::new();
    let digest = bed.validated(&choosing("chain"));
    bed.validate(&digest, 0, 1);
    let gates = |asked_bed: &Bed| {
        asked_bed
            .service()
            .evaluate_gates(&production(), &digest)
            .expect("gates")
    };
    assert_eq!(closed(&gates(&bed)), ["validated"]);
    bed.validate(&digest, 0, 0);
    assert!(closed(&gates(&bed)).is_empty());
}

/// Each deployment that the release activates has a validation of its own, which judged something.
#[test]
fn each_deployment_that_a_release_activates_is_validated() {
    let bed = Bed::new();
    let of_library = choosing("chain");
    let both = of_library.replace("deployment: any", "deployment: library")
        + "      - nodes: 1\n        ppn: 2\n        deployment: colltune\n        rules:\n          \
           - {from: 0, candidate: 'bcast/binomial', speedup: 2.0, confidence: high, confirmed: true}\n";
    let gate = |digest: &service::Digest| {
        let gates = bed
            .service()
            .evaluate_gates(&production(), digest)
            .expect("gates");
        let gate = gates.into_iter().find(|gate| gate.name == "validated");
        gate.expect("the gate")
    };
    let check = |digest: &service::Digest, details: &str, is_open: bool, said: &str| {
        bed.validate_with(digest, 0, 0, details);
        let gate = gate(digest);
        assert_eq!(gate.is_open(), is_open, "{gate}");
        assert!(gate.reason.contains(said), "{said}: {gate}");
    };
    let digest = bed.added(&of_library);
    let of_colltune = r#"{"deployment": "colltune"}"#;
    check(&digest, of_colltune, false, "with the deployment `library`");
    let none = r#"{"deployment": "library", "too_few_launches": 9, "not_measured": 1}"#;
    check(&digest, none, false, "judged no point");
    let some = r#"{"deployment": "library", "undecided": 1}"#;
    let said = "none of 9 points significantly slower";
    check(&digest, some, true, said);
    assert!(
        gate(&digest)
            .reason
            .contains("(deployment `library`; 1 point not judged)")
    );

    let digest_of_both = bed.added(&both);
    check(
        &digest_of_both,
        some,
        false,
        "with the deployment `colltune`",
    );
    check(
        &digest_of_both,
        of_colltune,
        true,
        "(deployment `colltune`); task",
    );
}

#[test]
fn a_table_of_another_cpu_does_not_pass() {
    let bed = Bed::new();
    let on = |cpu: &str, algorithm: &str| {
        choosing(algorithm).replace("cpu: any", &format!("cpu: {cpu}"))
    };
    bed.release(&bed.validated(&on("Xeon", "chain")))
        .expect("released");
    let fresh = Some((0, 0));
    check_gates(
        &bed,
        &on("Xeon", "pipeline"),
        fresh,
        &[],
        &["for nodes with `Xeon`"],
    );
    check_gates(
        &bed,
        &on("Epyc", "pipeline"),
        fresh,
        &["library"],
        &["made on nodes with `Epyc`"],
    );
    check_gates(&bed, &on("any", "pipeline"), fresh, &[], &[]);

    // The nodes have been replaced since, as a check has measured: now the first table is of another machine.
    let database = bed.database();
    database
        .execute_batch(
            r#"INSERT INTO epoch (machine, library, fingerprint, measured, began_at)
                   SELECT id, 'openmpi-4.1.4', 'f', '{"cpu": "Epyc"}', 0 FROM machine;
               INSERT INTO measured_epoch (machine, library, epoch)
                   SELECT machine, 'openmpi', id FROM epoch;"#,
        )
        .expect("a check");
    check_gates(
        &bed,
        &on("Epyc", "linear"),
        fresh,
        &[],
        &["for nodes with `Epyc`"],
    );
    check_gates(
        &bed,
        &on("Xeon", "linear"),
        fresh,
        &["library"],
        &["the newest check or validation was made on nodes with `Epyc`"],
    );
}

#[test]
fn a_table_of_other_networks_does_not_pass() {
    let bed = Bed::new();
    let on = |networks: &str, algorithm: &str| {
        let named = format!("cpu: any\n  networks: [{networks}]");
        choosing(algorithm).replace("cpu: any", &named)
    };
    let fresh = Some((0, 0));
    bed.release(&bed.validated(&on("Omni-Path, Ethernet", "chain")))
        .expect("released");
    check_gates(
        &bed,
        &on("Omni-Path, Ethernet", "pipeline"),
        fresh,
        &[],
        &[],
    );
    let reason = "made on nodes connected by `Ethernet`, and the released one on nodes connected by `Omni-Path` and \
                  `Ethernet`";
    let other = on("Ethernet", "pipeline");
    check_gates(&bed, &other, fresh, &["library"], &[reason]);
    // Unknown networks match any.
    check_gates(&bed, &choosing("pipeline"), fresh, &[], &[]);
}

#[test]
fn closed_gates_are_overridden_by_an_administrator_with_a_reason() {
    let bed = Bed::new();
    let digest = bed.added(&choosing("chain"));
    let error = bed.release(&digest).expect_err("closed");
    let ServiceError::Gates { gates } = &error else {
        panic!("{error}");
    };
    assert_eq!(closed(gates), ["validated"]);
    let ask = |who: &[Scope], reason: &str| {
        let request = ReleaseRequest {
            reason: reason.to_owned(),
            override_gates: true,
            ..asking(Release, Some(&digest))
        };
        bed.service()
            .make_release(&actor("ann", who), &production(), &request, None)
    };
    let forbidden = ask(&[Scope::Publish], "why").expect_err("forbidden");
    assert!(
        matches!(
            forbidden,
            ServiceError::Forbidden {
                scope: Scope::Admin,
                ..
            }
        ),
        "{forbidden}"
    );
    for reason in ["", "  ", &"x".repeat(1001)] {
        let invalid = ask(&[Scope::Admin], reason).expect_err("no reason");
        assert!(
            matches!(
                invalid,
                ServiceError::Invalid {
                    field: "reason",
                    ..
                }
            ),
            "{invalid}"
        );
    }
    // Nothing has been released so far.
    assert!(
        bed.service()
            .newest_releases()
            .expect("channels")
            .is_empty()
    );
    assert_eq!(bed.current(), None);
    assert!(bed.service().channel_manifest(&production()).is_err());

    let release = ask(&[Scope::Admin], "we measured it by hand").expect("released");
    let states: Vec<(&str, GateState)> =
        release.gates.iter().map(|g| (&*g.name, g.state)).collect();
    let overridden = |name: &str| match name {
        "validated" => GateState::Overridden,
        _ => GateState::Open,
    };
    let names = ["readable", "library", "confirmed", "validated", "compared"];
    assert_eq!(states, names.map(|name| (name, overridden(name))));
    assert_eq!(bed.current().as_deref(), Some(digest.as_str()));
    let newest = &bed.service().newest_releases().expect("channels")[0];
    assert_eq!(
        *newest,
        service::Release {
            at: newest.at,
            ..release
        }
    );
    assert_eq!(
        (&*newest.reason, &*newest.actor),
        ("we measured it by hand", "ann")
    );
}

/// In an emergency an old validation must not prevent a rollback.
#[test]
fn a_rollback_checks_no_gates() {
    let bed = Bed::new();
    let [a, b] = ["chain", "pipeline"].map(|algorithm| bed.validated(&choosing(algorithm)));
    for digest in [&a, &b] {
        bed.release(digest).expect("released");
    }
    bed.validate(&a, 0, 3);
    let release = bed.act(Rollback, None, None).expect("rolled back");
    assert_eq!(release.digest, a);
    assert_eq!(closed(&release.gates), ["validated"]);
}
