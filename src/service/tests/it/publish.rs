//! The folders of channels.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use service::{ReleaseAction, ServiceError, Slice};

use crate::bed::{Bed, choosing, production};

const FILES: [&str; 9] = [
    "README.txt",
    "digest",
    "environment.sh",
    "modulefiles/colltune-table/production",
    "modulefiles/colltune-table/production.lua",
    "openmpi.conf",
    "slurm.sh",
    "table.yaml",
    "with-table",
];

fn contents(version: &Path) -> Vec<Vec<u8>> {
    let read = |name: &&str| fs::read(version.join(name)).unwrap_or_else(|_| panic!("{name}"));
    FILES.iter().map(read).collect()
}

/// A service with two releases and `libcolltune.so`.
fn released() -> (Bed, [String; 2]) {
    let bed = Bed::new();
    let library = bed
        .folder()
        .join("lib/colltune/openmpi-4.1.4/libcolltune.so");
    fs::create_dir_all(library.parent().expect("a folder")).expect("made");
    fs::write(library, "").expect("written");
    let digests = ["chain", "pipeline"].map(|algorithm| {
        let digest = bed.validated(&choosing(algorithm));
        bed.release(&digest).expect("released");
        digest.to_string()
    });
    (bed, digests)
}

#[test]
fn a_release_has_all_files_that_jobs_need() {
    let (bed, [_, second]) = released();
    assert_eq!(bed.current(), Some(second));
    let current = bed.channel().join("current");
    let version = bed.channel().join(fs::read_link(&current).expect("a link"));
    contents(&version);
    assert!(String::from_utf8_lossy(&contents(&version)[5]).contains("# pipeline"));
    // The paths in jobs' environments do not contain the link.
    let print = ". \"$1\"; env";
    let output = Command::new("sh")
        .args(["-euc", print, "sh"])
        .arg(current.join("environment.sh"))
        .env_clear()
        .output()
        .expect("a shell");
    let text = String::from_utf8(output.stdout).expect("text");
    let place = version.to_str().expect("text");
    for line in [
        format!("COLLTUNE_RELEASE={place}"),
        format!("COLLTUNE_WITH_TABLE={place}/with-table"),
        format!("OMPI_MCA_coll_tuned_dynamic_rules_filename={place}/openmpi.conf"),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert!(!text.contains("/current"), "{text}");
    assert_eq!(
        export::deploy::table_of(&bed.channel()).expect("a release"),
        version.join("table.yaml")
    );
}

#[test]
fn a_start_repairs_the_folders() {
    type Damage = fn(&Path);
    let damages: [Damage; 8] = [
        |channel| fs::remove_dir_all(channel).unwrap(),
        |channel| fs::remove_dir_all(channel.ancestors().nth(3).unwrap()).unwrap(),
        |channel| fs::remove_file(channel.join("current")).unwrap(),
        // A stale link, to the release before.
        |channel| {
            export::deploy::rollback(channel, "someone").unwrap();
        },
        |channel| {
            fs::remove_file(channel.join("current")).unwrap();
            symlink("/etc", channel.join("current")).unwrap();
        },
        |channel| {
            let version = fs::canonicalize(channel.join("current")).unwrap();
            fs::remove_file(version.join("openmpi.conf")).unwrap();
            fs::remove_file(version.join("environment.sh")).unwrap();
        },
        |channel| fs::remove_dir_all(fs::canonicalize(channel.join("current")).unwrap()).unwrap(),
        // A half-written version.
        |channel| {
            let version = fs::canonicalize(channel.join("current")).unwrap();
            fs::rename(version, channel.join(".half-written")).unwrap();
        },
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let (mut bed, [_, second]) = released();
        let version = fs::canonicalize(bed.channel().join("current")).expect("a version");
        let before = contents(&version);
        bed.close();
        damage(&bed.channel());
        let bed = bed.opened();
        assert_eq!(bed.service().problems(), [""; 0], "{number}");
        assert_eq!(bed.current(), Some(second.clone()), "{number}");
        assert_eq!(contents(&version), before, "{number}");
        // The folders are as before.
        let back = bed
            .act(ReleaseAction::Rollback, None, None)
            .expect("rolled back");
        assert_eq!(bed.current(), Some(back.digest.to_string()), "{number}");
    }
}

/// The database is authoritative, not the link.
#[test]
fn tables_that_were_never_released_are_withdrawn() {
    let (mut bed, _) = released();
    let other = bed.state().join("channels/local/openmpi-4.1.4/canary");
    bed.close();
    fs::create_dir(&other).expect("made");
    let version = fs::canonicalize(bed.channel().join("current")).expect("a version");
    symlink(version, other.join("current")).expect("a link");
    let _bed = bed.opened();
    assert!(fs::symlink_metadata(other.join("current")).is_err());
}

#[test]
fn a_start_succeeds_without_folders_that_cannot_be_written() {
    let (mut bed, [_, second]) = released();
    bed.close();
    let channels = bed.state().join("channels");
    fs::rename(&channels, bed.state().join("away")).expect("moved");
    fs::write(&channels, "").expect("written");
    let bed = bed.opened();
    let problems = bed.service().problems();
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].contains("local/openmpi-4.1.4/production"),
        "{problems:?}"
    );
    assert_eq!(
        bed.service()
            .manifest(&production())
            .expect("a manifest")
            .digest
            .as_str(),
        second
    );
    assert_eq!(
        bed.service()
            .released_table(&production())
            .expect("a table")
            .name,
        "night"
    );
}

/// Tries to release, which must fail and change nothing.
#[track_caller]
fn check_fails(bed: &Bed, what: &str) {
    let third = bed.validated(&choosing("binary"));
    let before = (bed.current(), bed.service().manifest(&production()).ok());
    let audit = |bed: &Bed| -> i64 {
        let count = "SELECT count(*) FROM audit WHERE action LIKE 'release.%'";
        bed.database()
            .query_row(count, [], |row| row.get(0))
            .expect("a count")
    };
    let rows = |bed: &Bed| {
        bed.service()
            .releases(&production(), Slice::default())
            .expect("rows")
            .items
            .len()
    };
    let (counted, audited) = (rows(bed), audit(bed));
    let error = bed.release(&third).expect_err(what);
    let is_expected = matches!(
        error,
        ServiceError::Deploy(_) | ServiceError::Database(_) | ServiceError::File { .. }
    );
    assert!(is_expected, "{what}: {error}");
    assert_eq!((rows(bed), audit(bed)), (counted, audited), "{what}");
    let after = (bed.current(), bed.service().manifest(&production()).ok());
    assert_eq!(after, before, "{what}");
}

#[test]
fn a_release_that_fails_changes_nothing() {
    // The version cannot be written.
    let (bed, _) = released();
    let half = bed.channel().join(".half-written");
    fs::write(&half, "").expect("written");
    check_fails(&bed, "the version");
    fs::remove_file(&half).expect("removed");
    // The link cannot be replaced.
    let next = bed.channel().join(".next");
    fs::create_dir(&next).expect("made");
    check_fails(&bed, "the link");
    fs::remove_dir(&next).expect("removed");
    // The row cannot be added.
    let sabotage = |statements: &str| bed.database().execute_batch(statements).expect("changed");
    sabotage(
        "CREATE TRIGGER full BEFORE INSERT ON audit WHEN new.action LIKE 'release.%' \
              BEGIN SELECT raise(ABORT, 'full'); END",
    );
    check_fails(&bed, "the row");
    // The transaction cannot be committed, after the link was replaced.
    sabotage(
        "DROP TRIGGER full; \
              CREATE TABLE late (digest TEXT REFERENCES blob DEFERRABLE INITIALLY DEFERRED); \
              CREATE TRIGGER full AFTER INSERT ON audit WHEN new.action LIKE 'release.%' \
              BEGIN INSERT INTO late VALUES ('none'); END",
    );
    check_fails(&bed, "the commit");
    sabotage("DROP TRIGGER full");
    let third = bed.validated(&choosing("binary"));
    bed.release(&third).expect("released");
    assert_eq!(bed.current(), Some(third.to_string()));
}

/// The same for a channel without a release.
#[test]
fn a_first_release_that_fails_changes_nothing() {
    let bed = Bed::new();
    bed.database()
        .execute_batch(
            "CREATE TABLE late (digest TEXT REFERENCES blob DEFERRABLE INITIALLY DEFERRED); \
             CREATE TRIGGER full AFTER INSERT ON audit WHEN new.action LIKE 'release.%' \
             BEGIN INSERT INTO late VALUES ('none'); END",
        )
        .expect("changed");
    check_fails(&bed, "the commit");
    assert_eq!(bed.current(), None);
    fs::remove_dir_all(bed.state().join("channels")).expect("removed");
    fs::write(bed.state().join("channels"), "").expect("written");
    check_fails(&bed, "the folder");
}
