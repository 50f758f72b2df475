//! What a crash leaves is the old version or the new one.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use rusqlite::Connection;
use sqlite::{FileFormat, FileStart};

use crate::formats::{CREATE, FORMAT};

/// The variable with the file for [`migrator`].
const FILE: &str = "COLLTUNE_TEST_DATABASE";

/// A format whose second migration takes a while and writes more pages than SQLite's cache holds.
const SLOW: FileFormat = FileFormat {
    application_id: FORMAT.application_id,
    migrations: &[
        "CREATE TABLE old (value BLOB) STRICT; INSERT INTO old VALUES (randomblob(1000));",
        "CREATE TABLE new (value BLOB) STRICT;
         INSERT INTO new WITH RECURSIVE row (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < 6000)
             SELECT randomblob(1000) FROM row;
         UPDATE old SET value = zeroblob(1000);
         CREATE INDEX new_value ON new (value);",
    ],
};

/// Migrates a file.
#[test]
#[ignore = "a child process of the test below"]
fn migrator() {
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    println!("\nbegun");
    SLOW.open_for_writing(Path::new(&path), &CREATE).unwrap();
}

/// Starts a migrator, and returns when it begins.
fn start_migrator(path: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::migrator", "--ignored", "--nocapture"])
        .env(FILE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = child.stdout.as_mut().unwrap();
    let mut lines = BufReader::new(output).lines();
    assert!(lines.any(|line| line.unwrap() == "begun"));
    child
}

/// Copies a database, with the files that SQLite has beside it.
fn copy_database(from: &Path, to: &Path) {
    for end in ["", "-journal", "-wal"] {
        let name = |path: &Path| format!("{}{end}", path.display());
        if Path::new(&name(from)).exists() {
            fs::copy(name(from), name(to)).unwrap();
        }
    }
}

#[test]
fn a_migration_that_is_killed_has_been_done_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old.db");
    let first = FileFormat {
        migrations: &SLOW.migrations[..1],
        ..SLOW
    };
    drop(first.open_for_writing(&old, &CREATE).unwrap());
    // How long it takes when nothing kills it.
    let whole = folder.path().join("whole.db");
    copy_database(&old, &whole);
    let start = Instant::now();
    assert!(start_migrator(&whole).wait().unwrap().success());
    let duration = start.elapsed();

    let mut unfinished = 0;
    for step in 0..12 {
        let path = folder.path().join(format!("{step}.db"));
        copy_database(&old, &path);
        let mut child = start_migrator(&path);
        sleep(duration * step / 12);
        // It may have ended by itself, which is no error.
        let _ = child.kill();
        child.wait().unwrap();
        let connection = Connection::open(&path).unwrap();
        let count = |query| connection.query_row(query, [], |row| row.get::<_, i64>(0));
        let is_changed = "SELECT value = zeroblob(1000) FROM old";
        match SLOW.check_version(&connection).unwrap() {
            1 => {
                unfinished += 1;
                assert!(count("SELECT count(*) FROM new").is_err());
                assert_eq!(count(is_changed), Ok(0));
            }
            2 => {
                assert_eq!(count("SELECT count(*) FROM new"), Ok(6000));
                assert_eq!(count(is_changed), Ok(1));
            }
            other => panic!("version {other}"),
        }
        drop(connection);
        // The next process completes it.
        let completed = SLOW.open_for_writing(&path, &CREATE).unwrap();
        assert_eq!(SLOW.check_version(&completed).unwrap(), 2);
        fs::remove_file(&path).unwrap();
    }
    assert!(unfinished > 0, "none was killed in the middle");
}

/// As a power failure may leave a file that is being made: the journal is there, the first page is not.
#[test]
fn a_file_whose_first_page_was_lost_while_it_was_made_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let (making, lost) = (
        folder.path().join("making.db"),
        folder.path().join("lost.db"),
    );
    let half = Connection::open(&making).unwrap();
    // Pages go to the file before the commit.
    half.execute_batch(
        "PRAGMA cache_size = 2; PRAGMA cache_spill = 1; BEGIN EXCLUSIVE; CREATE TABLE half (value BLOB);",
    )
    .unwrap();
    for _ in 0..50 {
        half.execute("INSERT INTO half VALUES (randomblob(3000))", [])
            .unwrap();
    }
    copy_database(&making, &lost);
    let mut bytes = fs::read(&lost).unwrap();
    assert!(bytes.len() > 8192, "pages were written");
    bytes[..4096].fill(0);
    fs::write(&lost, &bytes).unwrap();

    assert_eq!(FORMAT.read_start(&lost).unwrap(), FileStart::Marked);
    let connection = FORMAT.open_for_writing(&lost, &CREATE).unwrap();
    assert_eq!(FORMAT.check_version(&connection).unwrap(), 3);
    assert!(connection.prepare("SELECT * FROM half").is_err());
}
