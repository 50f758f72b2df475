//! The schema itself refuses changes of measurements, by any program.

use rusqlite::Connection;
use store::Store;
use vocabulary::Pattern;
use vocabulary::RankOrder;
use wire::{FailureKind, Record};

use crate::fixture::{library, plan, started};
use crate::order::in_order;
use crate::verdict::verdict;

#[test]
fn measured_rows_cannot_be_changed_removed_or_replaced() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("a.db");
    let plan = plan(1, library("openmpi"), &folder.path().join("spool"), 1);
    let mut store = Store::open_or_create(&path).expect("created");
    store
        .record_campaign("digest", "a", "name: a")
        .expect("stored");
    store.begin_launch(&plan).expect("begun");
    store.ingest_record(&plan, &started(&plan)).expect("stored");
    store
        .ingest_record(&plan, &in_order(RankOrder::Block))
        .expect("stored");
    let message = "wrong at 3".to_owned();
    let kind = FailureKind::WrongResult;
    store
        .ingest_record(
            &plan,
            &Record::Failed {
                task: 1,
                candidate: 1,
                kind,
                message,
            },
        )
        .expect("stored");
    store
        .record_verdicts(&[verdict("openmpi")])
        .expect("stored");
    let before = store
        .samples(&library("openmpi"), Pattern::Together)
        .expect("readable");

    let outsider = Connection::open(&path).expect("opened");
    for statement in [
        "UPDATE sample SET seconds = x'00'",
        "UPDATE sample SET batch = batch + 1",
        "DELETE FROM sample",
        "INSERT OR REPLACE INTO sample SELECT * FROM sample",
        "UPDATE task SET elapsed_seconds = 0",
        "DELETE FROM task",
        "INSERT OR REPLACE INTO task SELECT * FROM task",
        "UPDATE candidate SET definition = ''",
        "DELETE FROM candidate",
        "UPDATE subject SET definition = ''",
        "DELETE FROM subject",
        "UPDATE campaign SET definition = ''",
        "DELETE FROM campaign",
        "DELETE FROM launch",
        "UPDATE failure SET message = ''",
        "DELETE FROM failure",
        "UPDATE rank_order SET rank_order = ''",
        "DELETE FROM rank_order",
        "INSERT OR REPLACE INTO rank_order SELECT * FROM rank_order",
        "UPDATE verdict SET verdict = ''",
        "DELETE FROM verdict",
        "INSERT OR REPLACE INTO verdict SELECT * FROM verdict",
    ] {
        let error = outsider.execute(statement, []).expect_err(statement);
        assert!(
            error.to_string().contains("append-only"),
            "{statement}: {error}"
        );
    }
    assert_eq!(
        store
            .samples(&library("openmpi"), Pattern::Together)
            .expect("readable"),
        before
    );
    assert_eq!(before.len(), 2);
}
