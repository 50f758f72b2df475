//! Gates and releases.

use std::sync::Barrier;
use std::time::Duration;

use service::{
    Channel, ChannelKey, Gate, GateState, Notice, ReleaseAction, ReleaseRequest, Scope,
    ServiceError, Slice,
};

use crate::bed::{Bed, MACHINE, actor, asking, choosing, production, publisher, table};

use ReleaseAction::{Release, Rollback, Withdraw};

fn closed(gates: &[Gate]) -> Vec<&str> {
    let closed = gates.iter().filter(|gate| !gate.is_open());
    closed.map(|gate| &*gate.name).collect()
}

/// The gates of a table that is taken in, and validated so many days ago with so many slower points.
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
    let gates = bed.service().gates(&production(), &digest).expect("gates");
    assert_eq!(gates.len(), 5);
    assert_eq!(closed(&gates), expected, "{gates:?}");
    let reasons: Vec<String> = gates.iter().map(Gate::to_string).collect();
    for said in said {
        assert!(
            reasons.iter().any(|reason| reason.contains(said)),
            "{said}: {reasons:#?}"
        );
    }
}

#[test]
fn gates_say_what_is_missing_and_what_to_do() {
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
            "none of its 1 rule is used",
            "tune with `confirmation: on`",
            "native:bcast/chain is not confirmed",
        ],
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

/// The newest validation counts, whatever earlier ones said.
#[test]
fn the_newest_validation_counts() {
    let bed = Bed::new();
    let digest = bed.validated(&choosing("chain"));
    bed.validate(&digest, 0, 1);
    let gates = |bed: &Bed| bed.service().gates(&production(), &digest).expect("gates");
    assert_eq!(closed(&gates(&bed)), ["validated"]);
    bed.validate(&digest, 0, 0);
    assert!(closed(&gates(&bed)).is_empty());
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
            .release(&actor("ann", who), &production(), &request, None)
    };
    let error = ask(&[Scope::Publish], "why").expect_err("forbidden");
    assert!(
        matches!(
            error,
            ServiceError::Forbidden {
                scope: Scope::Admin,
                ..
            }
        ),
        "{error}"
    );
    for reason in ["", "  ", &"x".repeat(1001)] {
        let error = ask(&[Scope::Admin], reason).expect_err("no reason");
        assert!(
            matches!(
                error,
                ServiceError::Invalid {
                    field: "reason",
                    ..
                }
            ),
            "{error}"
        );
    }
    // Nothing has been done so far.
    assert!(bed.service().channels().expect("channels").is_empty());
    assert_eq!(bed.current(), None);
    assert!(bed.service().manifest(&production()).is_err());

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
    let newest = &bed.service().channels().expect("channels")[0];
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

#[test]
fn only_publishers_of_the_machine_release() {
    let bed = Bed::new();
    let digest = bed.validated(&choosing("chain"));
    let mut elsewhere = publisher();
    elsewhere.machines = vec!["other".to_owned()];
    for who in [actor("ann", &[Scope::Read, Scope::Submit]), elsewhere] {
        let request = asking(Release, Some(&digest));
        let error = bed.service().release(&who, &production(), &request, None);
        let error = error.expect_err("forbidden");
        assert!(matches!(error, ServiceError::Forbidden { .. }), "{error}");
    }
    let other = |change: fn(&mut ChannelKey)| {
        let mut key = production();
        change(&mut key);
        let request = asking(Release, Some(&digest));
        bed.service()
            .release(&publisher(), &key, &request, None)
            .expect_err("refused")
    };
    let error = other(|key| key.machine = "other".to_owned());
    assert!(
        matches!(
            error,
            ServiceError::NotFound {
                kind: "machine",
                ..
            }
        ),
        "{error}"
    );
    for library in ["../../x-1", "x", "-1", "x-", "a/b-1", ".-1"] {
        let mut key = production();
        key.library = library.to_owned();
        let request = asking(Release, Some(&digest));
        let error = bed.service().release(&publisher(), &key, &request, None);
        let error = error.expect_err("refused");
        assert!(
            matches!(
                error,
                ServiceError::NotFound {
                    kind: "channel",
                    ..
                }
            ),
            "{error}"
        );
    }
    let error = other(|key| key.library = "mpich-4.2".to_owned());
    assert!(
        matches!(
            error,
            ServiceError::Invalid {
                field: "digest",
                ..
            }
        ),
        "{error}"
    );
    let error = bed
        .release(&service::Digest::of(b"none"))
        .expect_err("unknown");
    assert!(
        matches!(error, ServiceError::NotFound { kind: "table", .. }),
        "{error}"
    );
    assert!(!bed.state().join("channels").exists());
}

#[test]
fn a_release_needs_the_channel_as_it_was_seen() {
    let bed = Bed::new();
    let [first, second] =
        ["chain", "pipeline"].map(|algorithm| bed.validated(&choosing(algorithm)));
    let sequence = bed
        .act(Release, Some(&first), Some(0))
        .expect("released")
        .sequence;
    for expected in [0, sequence + 1] {
        let error = bed
            .act(Release, Some(&second), Some(expected))
            .expect_err("changed");
        let ServiceError::Precondition { found, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(found, sequence);
    }
    let error = bed.release(&first).expect_err("current already");
    assert!(matches!(error, ServiceError::Conflict(_)), "{error}");
    bed.act(Release, Some(&second), Some(sequence))
        .expect("released");
}

#[test]
fn rollbacks_go_back_step_by_step() {
    let bed = Bed::new();
    let tables = ["chain", "pipeline", "binary", "binomial"];
    let [a, b, c, d] = tables.map(|algorithm| bed.validated(&choosing(algorithm)));
    let current = || {
        bed.service()
            .manifest(&production())
            .expect("a manifest")
            .digest
    };
    let back = |expected: &service::Digest| {
        let release = bed.act(Rollback, None, None).expect("rolled back");
        assert_eq!((&release.digest, &current()), (expected, expected));
        assert_eq!(bed.current().as_deref(), Some(expected.as_str()));
    };
    for digest in [&a, &b, &c] {
        bed.release(digest).expect("released");
    }
    // Twice; then forward again, and back over what was rolled back.
    back(&b);
    back(&a);
    bed.release(&d).expect("released");
    back(&a);
    let error = bed.act(Rollback, None, None).expect_err("nothing before");
    assert!(matches!(error, ServiceError::Conflict(_)), "{error}");
    assert!(error.to_string().contains("`withdraw`"), "{error}");
    // To a table by its name: also one that was rolled back.
    bed.act(Rollback, Some(&c), None).expect("rolled back");
    assert_eq!(current(), c);
    let never = bed.validated(&choosing("linear"));
    let error = bed
        .act(Rollback, Some(&never), None)
        .expect_err("never there");
    assert!(matches!(error, ServiceError::Conflict(_)), "{error}");
    let request = asking(Rollback, None);
    let error = bed
        .service()
        .release(&publisher(), &production(), &request, None);
    let error = error.expect_err("no reason");
    assert!(
        matches!(
            error,
            ServiceError::Invalid {
                field: "reason",
                ..
            }
        ),
        "{error}"
    );
}

/// In an emergency no old validation stands in the way.
#[test]
fn a_rollback_asks_no_gates() {
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

#[test]
fn a_withdrawn_table_leaves_everything_to_the_library() {
    let bed = Bed::new();
    let error = bed
        .act(Withdraw, None, None)
        .expect_err("nothing is released");
    assert!(
        matches!(
            error,
            ServiceError::NotFound {
                kind: "channel",
                ..
            }
        ),
        "{error}"
    );
    let digest = bed.validated(&choosing("chain"));
    bed.release(&digest).expect("released");
    // Not even if the released table is lost.
    let file = bed
        .state()
        .join("blobs/sha256")
        .join(&digest.as_str()[..2])
        .join(format!("{digest}.yaml"));
    let text = std::fs::read(&file).expect("readable");
    std::fs::remove_file(&file).expect("removed");
    let release = bed.act(Withdraw, None, None).expect("withdrawn");
    let table = bed
        .service()
        .released_table(&production())
        .expect("a table");
    assert!(table.collectives.is_empty());
    assert_eq!(table.provenance.library.to_string(), "openmpi-4.1.4");
    assert_eq!(bed.current().as_deref(), Some(release.digest.as_str()));
    let error = bed.act(Withdraw, None, None).expect_err("again");
    assert!(matches!(error, ServiceError::Conflict(_)), "{error}");
    let error = bed.act(Withdraw, Some(&digest), None).expect_err("a table");
    assert!(
        matches!(
            error,
            ServiceError::Invalid {
                field: "digest",
                ..
            }
        ),
        "{error}"
    );
    std::fs::write(&file, text).expect("written");
    assert_eq!(
        bed.act(Rollback, None, None).expect("rolled back").digest,
        digest
    );
}

#[test]
fn releases_are_only_added() {
    let bed = Bed::new();
    bed.release(&bed.validated(&choosing("chain")))
        .expect("released");
    let database = bed.database();
    for statement in [
        "DELETE FROM release",
        "UPDATE release SET actor = 'nobody'",
        "DELETE FROM audit",
        "UPDATE audit SET actor = 'nobody'",
    ] {
        let error = database.execute(statement, []).expect_err(statement);
        assert!(error.to_string().contains("only added"), "{error}");
    }
}

#[test]
fn the_audit_has_what_a_release_changes() {
    let bed = Bed::new();
    let admin = actor("root", &[Scope::Admin]);
    let [a, b] = ["chain", "pipeline"].map(|algorithm| bed.validated(&choosing(algorithm)));
    bed.release(&a).expect("released");
    let (_, mut feed) = bed.service().feed().listen(None);
    let release = bed.release(&b).expect("released");
    let row = &bed
        .service()
        .audit(&admin, Slice::default())
        .expect("an audit")
        .items[0];
    assert_eq!(
        (&*row.action, &*row.subject, &*row.actor),
        ("release.release", "local/openmpi-4.1.4/production", "pub")
    );
    assert_eq!(row.details["before"], a.as_str());
    assert_eq!(row.details["changes"]["ranges"], 1);
    assert_eq!(
        row.details["difference"]["changes"][0]["after"]["candidate"],
        "native:bcast/pipeline"
    );
    match feed.try_recv().expect("a notice").notice {
        Notice::Release { release: told } => assert_eq!(*told, release),
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_two_releases_at_once_one_succeeds() {
    let bed = Bed::new();
    let digests = ["chain", "pipeline", "binary", "binomial"].map(|a| bed.validated(&choosing(a)));
    let start = Barrier::new(digests.len());
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = digests
            .iter()
            .map(|digest| {
                scope.spawn(|| {
                    start.wait();
                    bed.act(Release, Some(digest), Some(0))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    let (done, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!(done.len(), 1);
    for error in refused {
        assert!(
            matches!(error, Err(ServiceError::Precondition { .. })),
            "{error:?}"
        );
    }
    let digest = &done[0].as_ref().expect("released").digest;
    assert_eq!(bed.current().as_deref(), Some(digest.as_str()));
    assert_eq!(
        bed.service()
            .releases(&production(), Slice::default())
            .expect("releases")
            .items
            .len(),
        1
    );
}

#[test]
fn nodes_keep_what_running_jobs_may_use() {
    let bed = Bed::new();
    let [a, b, c] = ["chain", "pipeline", "binary"].map(|a| bed.validated(&choosing(a)));
    let keep = |bed: &Bed| {
        bed.service()
            .manifest(&production())
            .expect("a manifest")
            .keep
    };
    let on_disk = |bed: &Bed| -> Vec<String> {
        let versions = export::deploy::list(&bed.channel())
            .expect("versions")
            .into_iter();
        let digest = |version: export::deploy::Version| {
            std::fs::read_to_string(version.folder.join("digest")).expect("readable")
        };
        let mut digests: Vec<_> = versions.map(|v| digest(v).trim_end().to_owned()).collect();
        digests.sort();
        digests
    };
    let sorted = |digests: &[&service::Digest]| {
        let mut digests: Vec<_> = digests.iter().map(|digest| digest.to_string()).collect();
        digests.sort();
        digests
    };
    for digest in [&a, &b, &c] {
        bed.release(digest).expect("released");
    }
    assert_eq!(keep(&bed), [c.clone(), b.clone(), a.clone()]);
    bed.act(Rollback, None, None).expect("rolled back");
    assert_eq!(keep(&bed), [b.clone(), c.clone(), a.clone()]);
    let bed = bed.restarted();
    assert_eq!(keep(&bed), [b.clone(), c.clone(), a.clone()]);
    assert_eq!(on_disk(&bed), sorted(&[&a, &b, &c]));

    // Where no job runs longer than a second, nothing else is in use after two.
    let mut bed = bed.restarted_with(|new| new.longest_wall_time = Duration::from_secs(1));
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(keep(&bed), std::slice::from_ref(&b));
    bed.release(&a).expect("released");
    assert_eq!(keep(&bed)[0], a);
    assert!(!on_disk(&bed).contains(&c.to_string()));
    assert!(on_disk(&bed).contains(&a.to_string()));
    std::thread::sleep(Duration::from_millis(2100));
    bed = bed.restarted();
    assert_eq!(on_disk(&bed), sorted(&[&a]));
}

#[test]
fn pulls_are_noted() {
    let bed = Bed::new();
    let [a, b] = ["chain", "pipeline"].map(|algorithm| bed.validated(&choosing(algorithm)));
    let note = |client: &str, digest| bed.service().note_pull(&production(), client, digest);
    note("n1", &a).expect("noted");
    note("n2", &a).expect("noted");
    note("n2", &a).expect("noted");
    note("n1", &b).expect("noted");
    let mut found: Vec<_> = bed
        .service()
        .pulls(&production())
        .expect("pulls")
        .into_iter()
        .map(|pull| (pull.client, pull.digest))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [("n1".to_owned(), b.clone()), ("n2".to_owned(), a.clone())]
    );
    for client in ["", "a\nb", &"x".repeat(256)] {
        let error = note(client, &a).expect_err("refused");
        assert!(
            matches!(
                error,
                ServiceError::Invalid {
                    field: "client",
                    ..
                }
            ),
            "{error}"
        );
    }
    let elsewhere = ChannelKey {
        channel: Channel::Canary,
        ..production()
    };
    assert!(bed.service().pulls(&elsewhere).expect("pulls").is_empty());
    assert_eq!(elsewhere.machine, MACHINE);
}
