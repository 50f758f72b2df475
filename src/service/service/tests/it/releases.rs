//! Gates and releases.

use std::sync::Barrier;

use service::{ChannelKey, Notice, ReleaseAction, Scope, ServiceError, Slice};

use crate::bed::{Bed, actor, asking, choosing, production, publisher};

use ReleaseAction::{Release, Rollback, Withdraw};

#[test]
fn only_publishers_of_the_machine_release() {
    let bed = Bed::new();
    let digest = bed.validated(&choosing("chain"));
    let mut elsewhere = publisher();
    elsewhere.machines = vec!["other".to_owned()];
    for who in [actor("ann", &[Scope::Read, Scope::Submit]), elsewhere] {
        let request = asking(Release, Some(&digest));
        let error = bed
            .service()
            .make_release(&who, &production(), &request, None);
        let error = error.expect_err("forbidden");
        assert!(matches!(error, ServiceError::Forbidden { .. }), "{error}");
    }
    let other = |change: fn(&mut ChannelKey)| {
        let mut key = production();
        change(&mut key);
        let request = asking(Release, Some(&digest));
        bed.service()
            .make_release(&publisher(), &key, &request, None)
            .expect_err("refused")
    };
    let unknown_machine = other(|key| key.machine = "other".to_owned());
    assert!(
        matches!(
            unknown_machine,
            ServiceError::NotFound {
                kind: "machine",
                ..
            }
        ),
        "{unknown_machine}"
    );
    for library in ["../../x-1", "x", "-1", "x-", "a/b-1", ".-1"] {
        let mut key = production();
        key.library = library.to_owned();
        let request = asking(Release, Some(&digest));
        let error = bed
            .service()
            .make_release(&publisher(), &key, &request, None);
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
    let unknown_table = bed
        .release(&service::Digest::of_bytes(b"none"))
        .expect_err("unknown");
    assert!(
        matches!(unknown_table, ServiceError::NotFound { kind: "table", .. }),
        "{unknown_table}"
    );
    assert!(!bed.state().join("channels").exists());
}

#[test]
fn a_release_is_refused_if_the_channel_has_changed() {
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
            .channel_manifest(&production())
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
    // Twice; then another release, and back past the table that was rolled back.
    back(&b);
    back(&a);
    bed.release(&d).expect("released");
    back(&a);
    let nothing_before = bed.act(Rollback, None, None).expect_err("nothing before");
    assert!(
        matches!(nothing_before, ServiceError::Conflict(_)),
        "{nothing_before}"
    );
    assert!(
        nothing_before.to_string().contains("`withdraw`"),
        "{nothing_before}"
    );
    // To a table by its digest: also one that was rolled back.
    bed.act(Rollback, Some(&c), None).expect("rolled back");
    assert_eq!(current(), c);
    let never = bed.validated(&choosing("linear"));
    let never_there = bed
        .act(Rollback, Some(&never), None)
        .expect_err("never there");
    assert!(
        matches!(never_there, ServiceError::Conflict(_)),
        "{never_there}"
    );
    let request = asking(Rollback, None);
    let error = bed
        .service()
        .make_release(&publisher(), &production(), &request, None);
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

#[test]
fn after_a_withdrawal_the_library_decides_every_call() {
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
    // This works even if the released table is lost.
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
    let withdrawn_again = bed.act(Withdraw, None, None).expect_err("again");
    assert!(
        matches!(withdrawn_again, ServiceError::Conflict(_)),
        "{withdrawn_again}"
    );
    let digest_refused = bed.act(Withdraw, Some(&digest), None).expect_err("a table");
    assert!(
        matches!(
            digest_refused,
            ServiceError::Invalid {
                field: "digest",
                ..
            }
        ),
        "{digest_refused}"
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
    let (_, mut feed) = bed.service().feed().listen_after(None);
    let release = bed.release(&b).expect("released");
    let row = &bed
        .service()
        .read_audit(&admin, Slice::default())
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
            .list_releases(&production(), Slice::default())
            .expect("releases")
            .items
            .len(),
        1
    );
}
