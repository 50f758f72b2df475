//! Opening a service: its folder, lock and database.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use service::{NewToken, Scope, ServiceError, Slice};

use crate::fixture::{Place, actor, admin};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

fn machines(place: &Place) -> Vec<String> {
    let database = place.database();
    let mut names = database
        .prepare("SELECT name FROM machine ORDER BY id")
        .expect("sound");
    let names = names.query_map([], |row| row.get(0)).expect("rows");
    names.collect::<Result<_, _>>().expect("names")
}

fn token(name: &str) -> NewToken {
    NewToken {
        name: name.to_owned(),
        scopes: vec![Scope::Read],
        machines: Vec::new(),
        days: None,
    }
}

#[test]
fn only_the_channels_of_the_state_are_readable_by_others() {
    let place = Place::new();
    let service = place.open();
    service.owner_token().expect("a token");
    assert_eq!(mode(&place.state()), 0o711);
    for entry in fs::read_dir(place.state()).expect("a folder") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path) & 0o077, 0, "{path:?}");
    }
    let database = place.database();
    let pragma = |name| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    assert_eq!(pragma("user_version"), Ok(7));
    assert_eq!(
        pragma("application_id"),
        Ok(i64::from(u32::from_be_bytes(*b"clls")))
    );
    assert_eq!(machines(&place), ["local"]);
}

#[test]
fn opening_again_keeps_the_content() {
    let place = Place::new();
    place
        .open()
        .make_token(&admin(), &token("a"))
        .expect("made");
    place
        .database()
        .execute("INSERT INTO machine (name) VALUES ('former')", [])
        .expect("added");
    for _ in 0..2 {
        let service = place.open();
        assert_eq!(service.list_tokens(&admin()).expect("listed").len(), 1);
        assert_eq!(machines(&place), ["local", "former"]);
    }
}

#[test]
fn one_service_at_a_time() {
    let place = Place::new();
    let first = place.open();
    let refused = place.try_open().expect_err("refused");
    let folder = place.configuration().state;
    assert!(
        matches!(&refused, ServiceError::Locked { folder: of } if *of == folder),
        "{refused}"
    );
    assert!(refused.help().is_some());
    // The first one continues, and the folder is free when it has ended.
    first.make_token(&admin(), &token("a")).expect("made");
    drop(first);
    place.open();
}

#[test]
fn other_databases_are_refused_and_not_changed() {
    let newer = |path: &Path| {
        let database = Connection::open(path).expect("opened");
        database
            .pragma_update(None, "application_id", u32::from_be_bytes(*b"clls"))
            .expect("set");
        database
            .pragma_update(None, "user_version", 99)
            .expect("set");
        database
            .execute_batch("CREATE TABLE later (a)")
            .expect("made");
    };
    let foreign = |path: &Path| {
        let database = Connection::open(path).expect("opened");
        database
            .execute_batch("CREATE TABLE task (a)")
            .expect("made");
    };
    let text = |path: &Path| fs::write(path, "no database\n".repeat(1000)).expect("written");
    type Case<'a> = (&'a dyn Fn(&Path), &'a str);
    let cases: [Case<'_>; 3] = [
        (
            &newer,
            "has version 99, and this colltune knows versions up to 7; use the newer colltune",
        ),
        (&foreign, "it is the database of another program"),
        (&text, "it is not a SQLite database"),
    ];
    for (make, expected) in cases {
        let place = Place::new();
        fs::create_dir(place.state()).expect("made");
        let path = place.state().join("service.db");
        make(&path);
        let before = fs::read(&path).expect("read");
        let refused = place.try_open().expect_err("refused").to_string();
        assert!(refused.ends_with(expected), "{refused}");
        assert_eq!(fs::read(&path).expect("read"), before, "{expected}");
    }
}

/// What a service leaves in its folder, besides the database.
fn used() -> Place {
    let place = Place::new();
    let service = place.open();
    service.owner_token().expect("a token");
    drop(service);
    place.add_blob(b"a table");
    let version = place
        .state()
        .join("channels/local/openmpi-4.1.4/production");
    fs::create_dir_all(&version).expect("made");
    std::os::unix::fs::symlink("night-2026-11-20-0123", version.join("current")).expect("a link");
    place
}

/// The names of all files and links below a folder.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if fs::symlink_metadata(&path).expect("there").is_dir() {
            found.extend(everything(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

#[test]
fn a_state_without_its_database_is_not_taken_for_a_new_one() {
    type Loss = fn(&Path);
    let losses: [(Loss, &str); 3] = [
        (|path| fs::write(path, "").expect("emptied"), "is empty"),
        (|path| fs::write(path, "S").expect("emptied"), "is empty"),
        (|path| fs::remove_file(path).expect("removed"), "is missing"),
    ];
    for (lose, what) in losses {
        let place = used();
        let path = place.state().join("service.db");
        lose(&path);
        let before = everything(&place.state());
        let refused = place.try_open().expect_err("refused");
        assert!(matches!(refused, ServiceError::Emptied { .. }), "{refused}");
        let expected = format!(
            "{} {what}, but the folder has blobs, channels, token of an earlier service",
            path.display()
        );
        assert_eq!(refused.to_string(), expected);
        assert!(
            refused
                .help()
                .is_some_and(|help| help.contains("colltune restore"))
        );
        assert_eq!(everything(&place.state()), before, "{what}");
        // Each of them alone shows that there was a database, but no empty folder, such as one for a mount.
        for name in [
            "blobs/sha256",
            "channels/local",
            "tasks/1",
            "token",
            "service.db-wal",
        ] {
            let new_place = Place::new();
            fs::create_dir_all(new_place.state().join(name)).expect("made");
            fs::write(new_place.state().join(name).join("a file"), "").expect("written");
            assert!(new_place.try_open().is_err(), "{name}");
            let first = name.split('/').next().expect("a name");
            fs::remove_dir_all(new_place.state().join(first)).expect("still there");
            if name.contains('/') {
                fs::create_dir(new_place.state().join(first)).expect("made");
            }
            new_place
                .try_open()
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let backed_up = service::write_backup(&place.state(), &place.path("backup"));
        assert!(backed_up.is_err() && !place.path("backup").exists());
    }
}

/// As a kill leaves it before the first transaction.
#[test]
fn a_first_start_that_was_killed_is_repeated() {
    let place = Place::new();
    fs::create_dir(place.state()).expect("made");
    for name in ["lock", "service.db", "service.db-journal"] {
        fs::write(place.state().join(name), "").expect("written");
    }
    place.open();
    assert_eq!(machines(&place), ["local"]);
}

#[test]
fn a_truncated_database_is_refused_and_not_changed() {
    let place = used();
    let path = place.state().join("service.db");
    let whole = fs::read(&path).expect("read");
    let page = 4096;
    let lengths = [2, 50, 99, 100, 1000, page, page + 1, whole.len() - page];
    for length in lengths {
        fs::write(&path, &whole[..length]).expect("written");
        let refused = place.try_open().err().unwrap_or_else(|| panic!("{length}"));
        assert!(
            matches!(refused, ServiceError::BadDatabase { .. }),
            "{length}: {refused}"
        );
        assert!(
            refused.to_string().starts_with(&path.display().to_string()),
            "{refused}"
        );
        assert_eq!(fs::read(&path).expect("read"), whole[..length], "{length}");
        assert!(
            place
                .state()
                .join("channels/local/openmpi-4.1.4/production/current")
                .is_symlink()
        );
    }
    fs::write(&path, &whole).expect("written");
    place.open();
}

#[test]
fn a_database_that_lost_its_tables_is_refused() {
    for (loss, expected) in [
        (
            "DROP TABLE release",
            "it is damaged (it has no table `release`)",
        ),
        (
            "DROP TRIGGER audit_is_kept",
            "it is damaged (it has no table `audit_is_kept`)",
        ),
        (
            "PRAGMA user_version = 0",
            "it is damaged (it has no version)",
        ),
    ] {
        let place = used();
        place.database().execute_batch(loss).expect("changed");
        let refused = place.try_open().expect_err("refused").to_string();
        assert!(refused.ends_with(expected), "{refused}");
        let refused_backup = service::write_backup(&place.state(), &place.path("backup"));
        assert!(
            refused_backup
                .expect_err("refused")
                .to_string()
                .ends_with(expected)
        );
    }
}

/// Tables that were released before ages were counted in served time.
#[test]
fn releases_of_the_first_version_keep_their_distances() {
    let place = Place::new();
    fs::create_dir(place.state()).expect("made");
    let database = place.database();
    database
        .execute_batch(include_str!("../../schema/1.sql"))
        .expect("made");
    let mark = i64::from(u32::from_be_bytes(*b"clls"));
    database
        .pragma_update(None, "application_id", mark)
        .expect("set");
    database
        .pragma_update(None, "user_version", 1)
        .expect("set");
    database
        .execute("INSERT INTO machine (name) VALUES ('local')", [])
        .expect("added");
    let digest = place.add_blob(b"a table");
    // The clock was set back before the third one, and to a time in the future before the last one.
    let hour = 3_600_000;
    let now = jiff::Timestamp::now().as_millisecond();
    for at in [
        now - 9 * hour,
        now - 2 * hour,
        now - 100 * hour,
        now - hour,
        now + 900 * hour,
    ] {
        let release = "INSERT INTO release (machine, library, channel, action, digest, actor, reason, gates, at) \
                       VALUES (1, 'openmpi-4.1.4', 'production', 'release', ?1, 'a', '', '[]', ?2)";
        database
            .execute(release, (digest.as_str(), at))
            .expect("added");
    }
    drop(database);
    place.open();
    let migrated = place.database();
    let mut served = migrated
        .prepare("SELECT served FROM release ORDER BY sequence")
        .expect("sound");
    let served = served
        .query_map([], |row| row.get::<_, i64>(0))
        .expect("rows");
    let hours: Vec<i64> = served
        .map(|served| (served.expect("a time") - hour / 2).div_euclid(hour) + 1)
        .collect();
    assert_eq!(hours, [-9, -2, -2, -1, 0]);
    assert!(
        migrated
            .execute("UPDATE release SET served = 0", [])
            .is_err()
    );
}

#[test]
fn releases_and_audit_are_only_added_to() {
    let place = Place::new();
    let service = place.open();
    service.make_token(&admin(), &token("a")).expect("made");
    let digest = place.add_blob(b"a table");
    let database = place.database();
    let release = "INSERT INTO release (machine, library, channel, action, digest, actor, reason, gates, at) \
                   VALUES (1, 'openmpi-4.1.4', 'production', 'release', ?1, 'a', '', '[]', 0)";
    database.execute(release, [digest.as_str()]).expect("added");
    for (change, expected) in [
        ("DELETE FROM audit", "the audit is only added to"),
        (
            "UPDATE audit SET actor = 'other'",
            "the audit is only added to",
        ),
        ("DELETE FROM release", "releases are only added"),
        (
            "UPDATE release SET reason = 'other'",
            "releases are only added",
        ),
    ] {
        let refused = database.execute(change, []).expect_err(change).to_string();
        assert_eq!(refused, expected, "{change}");
    }
}

#[test]
fn the_audit_is_read_in_pages_by_administrators() {
    let place = Place::new();
    let service = place.open();
    for name in ["a", "b", "c"] {
        service.make_token(&admin(), &token(name)).expect("made");
    }
    let slice = |before, limit| Slice { before, limit };
    let page = |asked_slice| {
        let page = service.read_audit(&admin(), asked_slice).expect("read");
        let subjects: Vec<String> = page.items.into_iter().map(|row| row.subject).collect();
        (subjects.join(" "), page.next)
    };
    assert_eq!(page(slice(None, Some(2))), ("c b".to_owned(), Some(2)));
    assert_eq!(page(slice(Some(2), Some(2))), ("a".to_owned(), None));
    assert_eq!(page(slice(None, Some(3))), ("c b a".to_owned(), None));
    assert_eq!(
        page(slice(Some(u64::MAX), None)),
        ("c b a".to_owned(), None)
    );
    assert_eq!(page(slice(Some(0), Some(0))), (String::new(), None));
    let row = &service
        .read_audit(&admin(), slice(None, Some(1)))
        .expect("read")
        .items[0];
    assert_eq!(
        (row.actor.as_str(), row.action.as_str()),
        ("tester", "token.create")
    );
    assert_eq!(row.details["scopes"], serde_json::json!(["read"]));
    let others = actor(&[Scope::Read, Scope::Submit, Scope::Publish]);
    assert!(matches!(
        service.read_audit(&others, Slice::default()),
        Err(ServiceError::Forbidden { .. })
    ));
}
