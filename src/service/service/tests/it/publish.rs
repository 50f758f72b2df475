//! The folders of channels.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use fastrand::Rng;
use service::{ChannelKey, ReleaseAction, ReleaseRequest, Scope, ServiceError, Slice};

use crate::bed::{Bed, MACHINE, actor, asking, choosing, production, publisher, table};

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
            export::deploy::roll_back(channel, "someone").unwrap();
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
        assert_eq!(bed.service().list_problems(), [""; 0], "{number}");
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
    let problems = bed.service().list_problems();
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].contains("local/openmpi-4.1.4/production"),
        "{problems:?}"
    );
    assert_eq!(
        bed.service()
            .channel_manifest(&production())
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
    let before = (
        bed.current(),
        bed.service().channel_manifest(&production()).ok(),
    );
    let audit = |asked_bed: &Bed| -> i64 {
        let count = "SELECT count(*) FROM audit WHERE action LIKE 'release.%'";
        asked_bed
            .database()
            .query_row(count, [], |row| row.get(0))
            .expect("a count")
    };
    let rows = |asked_bed: &Bed| {
        asked_bed
            .service()
            .list_releases(&production(), Slice::default())
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
    let after = (
        bed.current(),
        bed.service().channel_manifest(&production()).ok(),
    );
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

/// Texts that a table may have in a name, a date, a CPU and the like: parts of paths, of shells and of YAML, control
/// characters, and the longest ones.
fn text(random: &mut Rng) -> String {
    let parts = [
        "",
        "a",
        "night",
        "..",
        "/",
        "../x",
        "\\",
        "\n",
        "\r",
        "\t",
        "\0",
        "\u{1b}[2J",
        "\u{85}",
        "\u{2028}",
        "\u{202e}",
        "\u{feff}",
        "ü",
        "🦀",
        "'",
        "\"",
        "$(id)",
        "`id`",
        "*/",
        "/*",
        "--[[",
        "]]",
        "#",
        ": ",
        " - ",
        "{",
        "}",
        "%",
        "~",
        "null",
        "true",
        "0x1f",
        "1e3",
        " ",
        "-",
        ".",
        "current",
        ".lock",
        ".half-written",
    ];
    let count = random.usize(..5);
    let mut text: String = (0..count)
        .map(|_| parts[random.usize(..parts.len())])
        .collect();
    if random.u8(..4) == 0 {
        let length = [1, 64, 165, 166, 189, 190, 191, 255, 256, 5000][random.usize(..10)];
        text = text.chars().cycle().take(length).collect();
    }
    text
}

/// Whatever its texts are, a table is refused when it is added, or it can be released.
#[test]
fn every_table_that_is_added_can_be_released() {
    let given = std::env::var("COLLTUNE_SEED").ok();
    let seed = given.map_or_else(|| fastrand::u64(..1 << 32), |seed| seed.parse().unwrap());
    println!("COLLTUNE_SEED={seed}");
    let mut random = Rng::with_seed(seed);
    let bed = Bed::new();
    let plain = table::Table::parse(&choosing("chain"), Path::new("a table")).expect("a table");
    let admin = actor("root", &[Scope::Admin]);
    let (mut released, mut refused) = (0, 0);
    for _ in 0..120 {
        let mut table = plain.clone();
        let mut change = |text_of: &mut String| {
            if random.u8(..3) == 0 {
                *text_of = text(&mut random);
            }
        };
        change(&mut table.name);
        let of = &mut table.provenance;
        for text_of in [
            &mut of.date,
            &mut of.cpu,
            &mut of.campaign,
            &mut of.store,
            &mut of.colltune,
        ] {
            change(text_of);
        }
        of.hosts.iter_mut().for_each(&mut change);
        of.warnings.push("a warning".to_owned());
        of.warnings.iter_mut().for_each(&mut change);
        if random.u8(..6) == 0 {
            of.library.version = text(&mut random);
        }
        let written = table.to_yaml();
        let version = match bed.service().add_table(&admin, MACHINE, &written) {
            Ok(version) => version,
            Err(error) => {
                let is_expected = matches!(
                    error,
                    ServiceError::Invalid { .. }
                        | ServiceError::Table(_)
                        | ServiceError::Deploy(export::deploy::DeployError::LongName { .. })
                );
                assert!(is_expected, "{error}\n{written}");
                refused += 1;
                continue;
            }
        };
        let key = ChannelKey {
            library: version.library,
            ..production()
        };
        let request = ReleaseRequest {
            reason: "a test".to_owned(),
            override_gates: true,
            ..asking(ReleaseAction::Release, Some(&version.digest))
        };
        match bed.service().make_release(&admin, &key, &request, None) {
            Ok(_) => released += 1,
            // The same table as before.
            Err(ServiceError::Conflict(_)) => {}
            Err(error) => panic!("{error}\n{written}"),
        }
        let folder = bed.service().channel_folder(&key);
        let path = export::deploy::table_of(&folder).expect("a version");
        // Names with a suffix of any service are possible as well.
        let version_name = path.parent().and_then(Path::file_name).expect("a name");
        assert!(
            version_name.len() + ".aside--1795876289113000".len() <= 255,
            "{version_name:?}"
        );
        for format in export::FORMATS {
            // A table that a format cannot express is refused with a reason; the text itself never stops it.
            let options = export::Options::with_installed(Some(format), "4.1.4", OsStr::new(""));
            let rendered = format.render(&table, &options);
            assert!(
                rendered.is_ok() || format.name() != "c-header",
                "{:?}",
                rendered.err()
            );
        }
    }
    assert!(
        released > 30 && refused > 3,
        "{released} released, {refused} refused"
    );
    assert_eq!(bed.service().list_problems(), [""; 0]);
}

#[test]
fn names_that_are_too_long_for_a_folder_are_refused_when_a_table_is_added() {
    let bed = Bed::new();
    let taken = |name: &str, date: &str| {
        let text = table("NAME", "chain", "confirmed: true");
        let text = text.replace("NAME", name).replace("2026-11-20", date);
        bed.service().add_table(&publisher(), MACHINE, &text)
    };
    for (name, date, field) in [
        (300, 10, "name: it has 300 bytes"),
        (191, 10, "name: it has 191 bytes"),
        (10, 300, "provenance.date: it has 300 bytes"),
        (190, 26, "provenance.date: it has 26 bytes"),
    ] {
        let error = taken(&"x".repeat(name), &"d".repeat(date)).expect_err("refused");
        assert!(error.to_string().starts_with(field), "{error}");
        assert!(error.help().is_some());
    }
    let longest = taken(&"x".repeat(190), &"d".repeat(25)).expect("taken in");
    bed.validate(&longest.digest, 0, 0);
    bed.release(&longest.digest).expect("released");
    // The folder of the version is set aside if a file takes its place.
    let version = std::fs::canonicalize(bed.channel().join("current")).expect("a version");
    fs::remove_dir_all(&version).expect("removed");
    fs::write(&version, "").expect("written");
    let bed = bed.restarted();
    assert_eq!(bed.service().list_problems(), [""; 0]);
    assert_eq!(bed.current().as_deref(), Some(longest.digest.as_str()));
}
