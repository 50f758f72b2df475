//! Files that are opened, migrated or refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use sqlite::{Check, FileFormat, FileStart, Journal, Missing, OpenError, Opening};

/// A format with three versions; the second migration changes a row, so that doing it twice would show.
pub(crate) const FORMAT: FileFormat = FileFormat {
    application_id: i32::from_be_bytes(*b"cltt"),
    migrations: &[
        "CREATE TABLE number (value INTEGER) STRICT; INSERT INTO number VALUES (1);",
        "UPDATE number SET value = value + 1; CREATE TABLE word (value TEXT) STRICT;",
        "CREATE INDEX by_value ON word (value);",
    ],
};

pub(crate) const CREATE: Opening = Opening {
    missing: Missing::Create,
    check: Check::Objects,
    journal: Journal::WriteAhead,
};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A file with the first version of the format.
fn first_version(folder: &Path) -> PathBuf {
    let path = folder.join("a.db");
    let first = FileFormat {
        migrations: &FORMAT.migrations[..1],
        ..FORMAT
    };
    first.open_for_writing(&path, &CREATE).unwrap();
    path
}

fn value(connection: &Connection) -> i64 {
    let query = "SELECT value FROM number";
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn missing_and_empty_files_become_files_of_the_format() {
    let folder = folder();
    for name in ["missing", "empty"] {
        let path = folder.path().join(name);
        if name == "empty" {
            fs::write(&path, "").unwrap();
        }
        assert_eq!(FORMAT.read_start(&path).unwrap(), FileStart::Empty);
        let connection = FORMAT.open_for_writing(&path, &CREATE).unwrap();
        assert_eq!(FORMAT.check_version(&connection).unwrap(), 3);
        assert_eq!(value(&connection), 2);
        // The mark is in the file itself while the log is in use.
        assert_eq!(FORMAT.read_start(&path).unwrap(), FileStart::Marked);
        let pragma = |setting| {
            let read = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
            connection.pragma_query_value(None, setting, read).unwrap()
        };
        assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
        assert_eq!(pragma("synchronous"), 3.into(), "3 is EXTRA");
        assert_eq!(pragma("foreign_keys"), 1.into());
    }
    let missing = Opening {
        missing: Missing::Refuse,
        ..CREATE
    };
    let path = folder.path().join("none");
    let refused = FORMAT.open_for_writing(&path, &missing);
    assert!(matches!(refused, Err(OpenError::Sqlite(_))), "{refused:?}");
    assert!(!path.exists());
    let rollback = Opening {
        journal: Journal::Rollback,
        ..CREATE
    };
    // The folder must be synced after a commit, also when the file was there.
    for _ in 0..2 {
        let connection = FORMAT.open_for_writing(&path, &rollback).unwrap();
        let mode: String = connection
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "delete");
        let synchronous: i64 = connection
            .pragma_query_value(None, "synchronous", |row| row.get(0))
            .unwrap();
        assert_eq!(synchronous, 3, "3 is EXTRA");
    }
}

#[test]
fn many_processes_migrate_a_file_once() {
    let folder = folder();
    let path = first_version(folder.path());
    thread::scope(|scope| {
        let open = || value(&FORMAT.open_for_writing(&path, &CREATE).unwrap());
        let started: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        for thread in started {
            assert_eq!(thread.join().unwrap(), 2);
        }
    });
}

#[test]
fn a_newer_process_that_was_faster_is_noticed_under_the_lock() {
    let folder = folder();
    let path = first_version(folder.path());
    let faster = Connection::open(&path).unwrap();
    faster
        .execute_batch("BEGIN IMMEDIATE; CREATE TABLE later (a); PRAGMA user_version = 4;")
        .unwrap();
    thread::scope(|scope| {
        // It reads version 1, and waits for the lock.
        let slower = scope.spawn(|| FORMAT.open_for_writing(&path, &CREATE));
        thread::sleep(Duration::from_millis(200));
        faster.execute_batch("COMMIT").unwrap();
        let refused = slower.join().unwrap().unwrap_err();
        assert!(
            matches!(refused, OpenError::Newer { found: 4, known: 3 }),
            "{refused:?}"
        );
    });
    assert_eq!(value(&faster), 1, "nothing was migrated");
    let words = faster.prepare("SELECT * FROM word");
    assert!(words.is_err(), "nothing was migrated");
}

/// Changes a file of the newest version so that it must be refused, or replaces it.
type Spoil = fn(&Path);

#[test]
fn other_files_are_refused_and_not_changed() {
    fn run_sql(path: &Path, statements: &str) {
        Connection::open(path)
            .unwrap()
            .execute_batch(statements)
            .unwrap();
    }
    let cases: [(Spoil, &str); 8] = [
        (
            |path| fs::write(path, "S").unwrap(),
            "it is not a SQLite database",
        ),
        (
            |path| fs::write(path, "SQLite format 3\0").unwrap(),
            "it is not a SQLite database",
        ),
        (
            |path| fs::write(path, "a: table\n".repeat(1000)).unwrap(),
            "it is not a SQLite database",
        ),
        (
            |path| fs::write(path, [0; 8192]).unwrap(),
            "it is not a SQLite database",
        ),
        (
            |path| run_sql(path, "PRAGMA application_id = 5"),
            "it is the database of another program",
        ),
        (
            |path| run_sql(path, "PRAGMA user_version = 99"),
            "it has version 99, and this colltune knows versions up to 3",
        ),
        (
            |path| run_sql(path, "PRAGMA user_version = 0"),
            "it is damaged (it has no version)",
        ),
        (
            |path| run_sql(path, "DROP INDEX by_value"),
            "it is damaged (it has no table `by_value`)",
        ),
    ];
    for (spoil, expected) in cases {
        let folder = folder();
        let path = folder.path().join("a.db");
        drop(FORMAT.open_for_writing(&path, &CREATE).unwrap());
        spoil(&path);
        let before = fs::read(&path).unwrap();
        let refused = FORMAT.open_for_writing(&path, &CREATE).unwrap_err();
        assert_eq!(refused.to_string(), expected);
        assert_eq!(fs::read(&path).unwrap(), before, "{expected}");
    }
    let folder = folder();
    let refused = FORMAT.open_for_writing(folder.path(), &CREATE).unwrap_err();
    assert_eq!(refused.to_string(), "it cannot be read: it is a folder");
}

#[test]
fn damaged_pages_are_found_by_reading_all_of_them() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let connection = FORMAT.open_for_writing(&path, &CREATE).unwrap();
    for _ in 0..50 {
        connection
            .execute("INSERT INTO word VALUES (hex(randomblob(500)))", [])
            .unwrap();
    }
    drop(connection);
    let mut bytes = fs::read(&path).unwrap();
    let page = 4096;
    assert!(bytes.len() > 12 * page);
    bytes[8 * page..10 * page].fill(0xff);
    fs::write(&path, &bytes).unwrap();
    let pages = Opening {
        check: Check::Pages,
        ..CREATE
    };
    let refused = FORMAT.open_for_writing(&path, &pages);
    assert!(
        matches!(refused, Err(OpenError::Damaged { .. })),
        "{refused:?}"
    );
    assert_eq!(fs::read(&path).unwrap(), bytes);
}
