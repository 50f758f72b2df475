//! Opening files that are stores, damaged stores or other files.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use store::{Lock, Store, StoreError, StoreMismatch};
use vocabulary::Pattern;

use crate::fixture::{done, library, plan, times};

/// A closed store with a few hundred samples.
pub(crate) fn filled(folder: &Path) -> PathBuf {
    let path = folder.join("a.db");
    let plan = plan(1, library("openmpi"), &folder.join("spool"), 100);
    let mut store = Store::open_or_create(&path).expect("created");
    store
        .record_campaign("digest", "a", "name: a")
        .expect("stored");
    store.begin_launch(&plan).expect("begun");
    for task in 1..=100 {
        let record = done(task, &[times(task, 0, 100), times(task, 1, 100)]);
        store.ingest_record(&plan, &record).expect("stored");
    }
    path
}

/// Opens `path` for reading and for writing: each must fail as `expected` says, name the file, and not change it.
fn check_refused(path: &Path, expected: impl Fn(&StoreError) -> bool) {
    let before = fs::read(path).expect("readable");
    for result in [Store::open(path), Store::open_or_create(path)] {
        let error = result.expect_err("refused");
        assert!(expected(&error), "{error:?}");
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
    }
    assert!(
        fs::read(path).expect("readable") == before,
        "the file was changed"
    );
}

#[test]
fn creates_folders_and_keeps_content() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("deep/er/a.db");
    assert!(matches!(Store::open(&path), Err(StoreError::Absent { .. })));
    assert!(!path.exists());
    let mut created = Store::open_or_create(&path).expect("created");
    created
        .record_campaign("d", "a", "name: a")
        .expect("stored");
    drop(created);
    for store in [Store::open(&path), Store::open_or_create(&path)] {
        let campaigns = store.and_then(|store| store.campaigns()).expect("readable");
        assert_eq!(campaigns.len(), 1);
        assert_eq!(
            (campaigns[0].digest.as_str(), campaigns[0].text.as_str()),
            ("d", "name: a")
        );
    }
}

#[test]
fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("a.db");
    fs::write(&path, "").expect("written");
    assert!(matches!(Store::open(&path), Err(StoreError::Absent { .. })));
    Store::open_or_create(&path).expect("created");
    Store::open(&path).expect("opened");
}

#[test]
fn two_readers_and_a_writer_share_a_store() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = filled(folder.path());
    let reader = Store::open(&path).expect("opened");
    let mut writer = Store::open(&path).expect("opened");
    writer.record_campaign("e", "b", "name: b").expect("stored");
    assert_eq!(reader.campaigns().expect("readable").len(), 2);
}

/// A store as the first version of the format had it, with one sample.
fn of_version_1(path: &Path) {
    let old = Connection::open(path).expect("created");
    old.execute_batch(include_str!("../../schema/1.sql"))
        .expect("the tables");
    let launch = r#"
        INSERT INTO campaign (digest, name, definition) VALUES ('digest', 'a', 'name: a');
        INSERT INTO launch (number, campaign, library_name, library_version, plan)
        VALUES (1, 1, 'openmpi', '4.1.4', 'null');
        INSERT INTO subject (definition) VALUES ('{"cell":{"collective":"allreduce",
            "shape":{"nodes":1,"ppn":2},"bytes":8,"datatype":"float64","operator":"sum"}}');
        INSERT INTO candidate (definition) VALUES ('"default"');
        INSERT INTO task VALUES (1, 0, 1, 0.5);
        INSERT INTO sample VALUES (1, 0, 0, 1, 3, 1, x'000000000000f03f');
    "#;
    old.execute_batch(launch).expect("a sample");
    old.pragma_update(None, "application_id", i32::from_be_bytes(*b"clln"))
        .and_then(|()| old.pragma_update(None, "user_version", 1))
        .expect("marked");
}

#[test]
fn a_store_of_the_first_version_is_brought_up_to_date() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("a.db");
    of_version_1(&path);
    let store = Store::open(&path).expect("opened");
    let samples = store
        .samples(&library("openmpi"), Pattern::Together)
        .expect("readable");
    assert_eq!(samples.len(), 1);
    let sample = &samples[0];
    assert_eq!((&sample.seconds[..], sample.invalid), (&[1.0][..], 0));
    assert_eq!((sample.residual_seconds, sample.left), (None, None));
    let spending = store.time_breakdown(&library("openmpi")).expect("readable");
    assert_eq!(spending, None);
    let orders = store.rank_orders(&library("openmpi")).expect("readable");
    assert!(orders.is_empty(), "{orders:?}");
    let verdicts = store.verdicts(&library("openmpi")).expect("readable");
    assert!(verdicts.is_empty(), "{verdicts:?}");
}

/// Samples under an algorithm's former name are read under its present one.
#[test]
fn a_renamed_algorithm_keeps_its_samples() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("a.db");
    of_version_1(&path);
    let old = Connection::open(&path).expect("opened");
    let sample = r#"
        INSERT INTO subject (definition) VALUES ('{"cell":{"collective":"gather",
            "shape":{"nodes":1,"ppn":2},"bytes":8,"datatype":"byte"}}');
        INSERT INTO candidate (definition)
        VALUES ('{"ours":{"algorithm":"gather/binary_chunked","parameters":{"blocks":2}}}');
        INSERT INTO task VALUES (1, 1, 2, 0.5);
        INSERT INTO sample VALUES (1, 1, 0, 2, 3, 1, x'000000000000f03f');
    "#;
    old.execute_batch(sample).expect("a sample");
    drop(old);
    let store = Store::open(&path).expect("opened");
    let samples = store
        .samples(&library("openmpi"), Pattern::Together)
        .expect("readable");
    let names: Vec<_> = samples.iter().map(|s| s.candidate.to_string()).collect();
    assert_eq!(names, ["default", "gather/binary_streamed[blocks=2]"]);
    drop(store);
    // Nothing else changes a candidate.
    let raw = Connection::open(&path).expect("opened");
    let refused = raw.execute("UPDATE candidate SET definition = ''", []);
    let error = refused.expect_err("refused").to_string();
    assert!(error.contains("append-only"), "{error}");
}

#[test]
fn refuses_a_newer_version() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = filled(folder.path());
    let other = Connection::open(&path).expect("opened");
    other
        .pragma_update(None, "user_version", 77)
        .expect("changed");
    drop(other);
    check_refused(&path, |error| {
        matches!(
            error,
            StoreError::Newer {
                found: 77,
                known: 7,
                ..
            }
        )
    });
}

#[test]
fn refuses_files_that_are_no_stores() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("a.db");
    for garbage in [
        "x",
        "name: a YAML file\n",
        &"\0".repeat(8192),
        "SQLite format 3\0",
    ] {
        fs::write(&path, garbage).expect("written");
        check_refused(&path, |error| {
            matches!(
                error,
                StoreError::NotAStore {
                    found: StoreMismatch::OtherFormat,
                    ..
                }
            )
        });
    }
    fs::remove_file(&path).expect("removed");
    let other = Connection::open(&path).expect("opened");
    other
        .execute_batch("CREATE TABLE bookmarks (url TEXT)")
        .expect("created");
    drop(other);
    check_refused(&path, |error| {
        matches!(
            error,
            StoreError::NotAStore {
                found: StoreMismatch::OtherDatabase,
                ..
            }
        )
    });
}

#[test]
fn refuses_a_corrupt_store() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let intact = fs::read(filled(folder.path())).expect("readable");
    let page = 4096;
    assert!(intact.len() > 20 * page, "enough pages to damage");
    let mut first = intact.clone();
    first[100..page].fill(0xff);
    let mut middle = intact.clone();
    middle[10 * page..12 * page].fill(0xff);
    let truncated = intact[..intact.len() / 2].to_vec();
    for (name, bytes) in [
        ("first", first),
        ("middle", middle),
        ("truncated", truncated),
    ] {
        let path = folder.path().join(name).with_extension("db");
        fs::write(&path, bytes).expect("written");
        check_refused(&path, |error| matches!(error, StoreError::Corrupt { .. }));
    }
}

#[test]
fn names_the_place_where_nothing_can_be_written() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let file = folder.path().join("file");
    fs::write(&file, "content").expect("written");
    let below = file.join("folder/a.db");
    for error in [
        Store::open_or_create(&below)
            .map(drop)
            .expect_err("refused"),
        Lock::acquire(&below).map(drop).expect_err("refused"),
    ] {
        assert!(matches!(error, StoreError::Folder { .. }), "{error:?}");
        assert!(error.to_string().contains("file/folder"), "{error}");
    }
    assert_eq!(fs::read(&file).expect("readable"), b"content");

    // Permissions do not bind root, but no user creates files in /proc.
    let error = Store::open_or_create(Path::new("/proc/a.db")).expect_err("refused");
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error:?}");
    assert!(error.to_string().contains("/proc/a.db"), "{error}");
    let lock_error = Lock::acquire(Path::new("/proc/a.db")).expect_err("refused");
    assert!(
        lock_error.to_string().contains("/proc/a.db.lock"),
        "{lock_error}"
    );

    let folder_error = Store::open_or_create(folder.path()).expect_err("a folder");
    assert!(
        matches!(folder_error, StoreError::File { .. }),
        "{folder_error:?}"
    );
}
