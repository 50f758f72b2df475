//! Backups and restoring them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use service::{
    Digest, NewToken, Scope, Service, ServiceError, SessionHolder, restore_backup, write_backup,
};

use crate::fixture::{Place, admin};

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("UTF-8");
        if entry.path().is_dir() {
            files.extend(
                self::files(&entry.path())
                    .iter()
                    .map(|file| format!("{name}/{file}")),
            )
        } else {
            files.push(name)
        }
    }
    files.sort();
    files
}

/// The names in a folder.
fn names(folder: &Path) -> usize {
    fs::read_dir(folder).expect("a folder").count()
}

fn token(service: &Service, name: &str) -> String {
    let new = NewToken {
        name: name.to_owned(),
        scopes: vec![Scope::Read],
        machines: Vec::new(),
        days: None,
    };
    let (secret, _) = service.make_token(&admin(), &new).expect("made");
    secret.expose().to_owned()
}

/// A place with a backup of a service that has a token and two blobs.
fn backed_up() -> (Place, String, [Digest; 2]) {
    let place = Place::new();
    let service = place.open();
    let secret = token(&service, "ci");
    let digests = [
        place.add_blob(b"one table"),
        place.add_blob(&[b'x'; 100_000]),
    ];
    write_backup(&place.state(), &place.path("backup")).expect("backed up");
    (place, secret, digests)
}

#[test]
fn a_backup_of_a_service_in_use_becomes_a_service() {
    let place = Place::new();
    let service = place.open();
    let secret = token(&service, "ci");
    let (session, _) = service
        .begin_session(&secret, SessionHolder::Anyone)
        .expect("asked")
        .expect("begun");
    service.owner_token().expect("made");
    let digests = [place.add_blob(b"one table"), place.add_blob(b"")];
    write_backup(&place.state(), &place.path("backups/1")).expect("backed up");
    token(&service, "later");
    drop(service);

    let mut expected = digests
        .clone()
        .map(|digest| format!("blobs/sha256/{}/{digest}.yaml", &digest.as_str()[..2]))
        .to_vec();
    expected.extend(["service.db".to_owned(), "service.db.sha256".to_owned()]);
    expected.sort();
    assert_eq!(files(&place.path("backups/1")), expected);
    let mode = |name: &str| {
        fs::metadata(place.path(name))
            .expect("there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(
        (mode("backups/1"), mode("backups/1/service.db")),
        (0o700, 0o600)
    );

    fs::remove_dir_all(place.state()).expect("lost");
    restore_backup(&place.path("backups/1"), &place.state()).expect("restored");
    assert_eq!(
        (mode("service"), mode("service/service.db")),
        (0o711, 0o600)
    );
    let restored = place.open();
    let tokens = restored.list_tokens(&admin()).expect("listed");
    let names: Vec<&str> = tokens.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["owner", "ci"]);
    assert!(
        restored
            .authenticate_token(&secret)
            .expect("asked")
            .is_some()
    );
    assert!(
        restored
            .authenticate_session(session.expose(), SessionHolder::Anyone)
            .expect("asked")
            .is_none(),
        "sessions end"
    );
    assert_eq!(
        fs::read(place.blob(&digests[0])).expect("read"),
        b"one table"
    );
    // The backup is unchanged and can be restored again; so can the copy of a service that is not running.
    drop(restored);
    write_backup(&place.state(), &place.path("backups/2")).expect("backed up");
    restore_backup(&place.path("backups/2"), &place.path("again")).expect("restored");
    restore_backup(&place.path("backups/1"), &place.path("once more")).expect("restored");
}

#[test]
fn a_backup_is_of_one_moment() {
    let place = Place::new();
    let service = place.open();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A service has 500 at most. On a fast machine the last backups may be made after all of these.
            for number in 0..499 {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                token(&service, &number.to_string());
            }
        });
        // Checked after the other thread has stopped.
        let places = [0, 1, 2, 3, 4].map(|number| {
            let kept = place.path(&format!("b{number}"));
            let restored = place.path(&format!("r{number}"));
            let made =
                write_backup(&place.state(), &kept).and_then(|()| restore_backup(&kept, &restored));
            (made, restored)
        });
        stop.store(true, Ordering::Relaxed);
        for (made, restored) in places {
            made.expect("backed up and restored");
            let database = rusqlite::Connection::open(restored.join("service.db")).expect("opened");
            // A token and its line in the audit are added in one transaction.
            let count = |table: &str| {
                let query = format!("SELECT count(*) FROM {table}");
                database
                    .query_row(&query, [], |row| row.get::<_, i64>(0))
                    .expect("counted")
            };
            assert_eq!(count("token"), count("audit"));
        }
    });
}

#[test]
fn a_damaged_backup_is_refused_and_leaves_nothing() {
    let (place, _, _) = backed_up();
    let whole = place.path("backup");
    for name in files(&whole) {
        let path = whole.join(&name);
        let bytes = fs::read(&path).expect("read");
        let flipped = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            Some(bytes)
        };
        let last = bytes.len() - 1;
        // Also bytes of rows, where SQLite does not detect damage.
        let step = (bytes.len() / 16).max(1);
        let damages = (0..last).step_by(step).chain([last]).map(flipped);
        let damages = damages.chain([Some(bytes[..last].to_vec()), Some(Vec::new()), None]);
        for damage in damages {
            match damage {
                Some(damage) => fs::write(&path, damage).expect("written"),
                None => fs::remove_file(&path).expect("removed"),
            }
            let before = names(&place.path("."));
            let refused = restore_backup(&whole, &place.path("restored")).expect_err(&name);
            assert_eq!(names(&place.path(".")), before, "{name}: {refused}");
            fs::write(&path, &bytes).expect("written");
        }
    }
    restore_backup(&whole, &place.path("restored")).expect("whole again");
}

#[test]
fn a_state_with_damaged_tables_is_not_backed_up() {
    let (place, _, [one, other]) = backed_up();
    fs::write(place.blob(&one), b"onE table").expect("written");
    let refused = write_backup(&place.state(), &place.path("next")).expect_err("refused");
    assert!(
        matches!(&refused, ServiceError::Damaged { digest } if *digest == one),
        "{refused}"
    );
    fs::write(place.blob(&one), b"one table").expect("written");
    fs::remove_file(place.blob(&other)).expect("removed");
    let missing = write_backup(&place.state(), &place.path("next"))
        .expect_err("refused")
        .to_string();
    assert_eq!(missing, format!("there is no table `{other}`"));
    // `service` and `backup`.
    assert_eq!(names(&place.path(".")), 2);
}

#[test]
fn nothing_is_overwritten() {
    let (place, _, _) = backed_up();
    fs::create_dir(place.path("empty")).expect("made");
    std::os::unix::fs::symlink("nowhere", place.path("link")).expect("made");
    for target in ["backup", "empty", "link"] {
        let target = place.path(target);
        let expected = format!("cannot create {}: it already exists", target.display());
        let refused = write_backup(&place.state(), &target).expect_err("refused");
        assert_eq!(refused.to_string(), expected);
        let restore_refused = restore_backup(&place.path("backup"), &target).expect_err("refused");
        assert_eq!(restore_refused.to_string(), expected);
        assert!(restore_refused.help().is_some());
    }
    let nothing = write_backup(&place.path("nothing"), &place.path("new"))
        .expect_err("refused")
        .to_string();
    assert!(nothing.contains("nothing/service.db"), "{nothing}");
    assert!(restore_backup(&place.path("nothing"), &place.path("new")).is_err());
    assert!(!place.path("new").exists());
}

#[test]
fn states_of_a_newer_colltune_are_not_copied() {
    let (place, _, _) = backed_up();
    place
        .database()
        .pragma_update(None, "user_version", 99)
        .expect("set");
    let refused = write_backup(&place.state(), &place.path("next")).expect_err("refused");
    assert!(
        matches!(refused, ServiceError::Newer { found: 99, .. }),
        "{refused}"
    );
}
