//! Other accounts of a host, and disks and services that take too long.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use client::{Folder, PullError};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, connect, listen, socket};
use testkit::process::{self, NOBODY};
use testkit::web::Reply;
use vocabulary::ErrorKind;

use crate::place::{Place, only, pull, table};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn only_the_owner_of_a_folder_can_lock_it() {
    let place = Place::new();
    place.site.release_table(table("first"));
    place.pull().unwrap();
    let lock = place.folder().join(".lock");
    assert_eq!(mode(&lock), 0o600);
    // An earlier version made it so.
    fs::set_permissions(&lock, PermissionsExt::from_mode(0o644)).unwrap();
    place.site.release_table(table("second"));
    place.pull().unwrap();
    assert_eq!(mode(&lock), 0o600);
    // All other files can be read by all users, and none of these is ever locked.
    fs::set_permissions(
        place.folder().parent().unwrap(),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let path = lock.to_str().unwrap();
    if let Some(mut hold) = process::as_another_user(NOBODY, &["flock", "-s", path, "sleep", "9"]) {
        let ended = process::run_to_end(&mut hold, Duration::from_secs(5));
        assert!(ended.err.contains("Permission denied"), "{ended:?}");
    }
}

#[test]
fn a_fifo_or_a_link_in_place_of_the_lock_is_refused_at_once() {
    let place = Place::new();
    let first = place.site.release_table(table("first"));
    place.pull().unwrap();
    place.site.release_table(table("second"));
    let lock = place.folder().join(".lock");
    let made = place.folder().with_file_name("made");
    type Plant<'a> = &'a dyn Fn();
    let plants: [Plant<'_>; 2] = [
        &|| {
            assert!(
                Command::new("mkfifo")
                    .arg(&lock)
                    .status()
                    .unwrap()
                    .success()
            )
        },
        &|| symlink(&made, &lock).unwrap(),
    ];
    for plant in plants {
        fs::remove_file(&lock).unwrap();
        plant();
        let since = Instant::now();
        let error = place.pull_within(Duration::from_millis(300)).unwrap_err();
        assert!(since.elapsed() < Duration::from_secs(1));
        assert_eq!(error.kind(), ErrorKind::Input, "{error}");
        assert!(error.to_string().contains(".lock: it is a "), "{error}");
        place.has(&first);
        assert!(!made.exists());
    }
}

/// A service whose queue of connections is full lets programs wait in `connect`.
#[test]
fn the_time_limit_includes_connecting() {
    let place = Place::new();
    let path = place.folder().with_file_name("socket");
    let address = SocketAddrUnix::new(&path).unwrap();
    let stream = || socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    let listening = stream();
    bind(&listening, &address).unwrap();
    listen(&listening, 0).unwrap();
    let first = stream();
    connect(&first, &address).unwrap();
    let since = Instant::now();
    let url = format!("unix:{}:", path.display());
    let error = pull(&url, &place.folder(), Duration::from_millis(300)).unwrap_err();
    assert!(since.elapsed() < Duration::from_secs(2), "{error}");
    assert!(matches!(error, PullError::Late { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Environment);
}

/// After the limit nothing more is requested, however many tables are missing.
#[test]
fn the_time_limit_includes_the_tables_of_earlier_releases() {
    const MANY: usize = 3000;
    let digests: Vec<String> = (0..MANY)
        .map(|number| format!("\"{number:064}\""))
        .collect();
    let first = Place::new().site.release_table(table("first"));
    let manifest = format!(
        "{{\"machine\": \"here\", \"library\": \"openmpi-4.1.4\", \"channel\": \"production\", \"sequence\": 1, \
         \"digest\": \"{first}\", \"keep\": [{}]}}",
        digests.join(", ")
    );
    let place = Place::with(move |request, reply| match &*request.path {
        path if path.contains("/blobs/00000") => {
            Reply::problem(500, "later").after_pause(Duration::from_millis(20))
        }
        path if path.contains("/blobs/") => reply,
        _ => Reply::json(200, &manifest),
    });
    place.site.release_table(table("first"));
    let limit = Duration::from_millis(500);
    let since = Instant::now();
    let pulled = place.pull_within(limit).unwrap();
    assert!(since.elapsed() < limit + Duration::from_millis(700));
    let (count, error) = pulled.missing.unwrap();
    assert_eq!(count, MANY);
    assert!(error.to_string().contains("later"), "{error}");
    place.has(&first);
    let asked = place.server.requests().len();
    assert!(asked < 100, "{asked}");
}

/// What another user owns leads root nowhere.
#[test]
fn the_folder_of_another_user_is_refused() {
    let place = Place::new();
    place.site.release_table(table("first"));
    if process::as_another_user(NOBODY, &["true"]).is_none() {
        return;
    }
    let made = place.folder().with_file_name("made-by-root");
    fs::create_dir(place.folder()).unwrap();
    symlink(&made, place.folder().join(".lock")).unwrap();
    chown(place.folder(), Some(NOBODY), None).unwrap();
    for folder in [place.folder(), place.folder().join("below")] {
        let error = pull(&place.server.url(), &folder, Duration::from_secs(5)).unwrap_err();
        assert!(matches!(error, PullError::Untrusted(_)), "{error}");
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.help().unwrap().contains("--owner"), "{error}");
    }
    assert!(!made.exists());
    assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 1);
}

/// The size of the disk of the test below.
const DISK: usize = 256 << 10;

#[test]
#[ignore = "a child process of the test below, whose temporary folders are on a small disk"]
fn on_a_small_disk() {
    let place = Place::new();
    let first = place.site.release_table(table("first"));
    place.pull().unwrap();
    // Another program fills the disk.
    let filler = place.folder().with_file_name("filler");
    let fill = |path: &Path| fs::write(path, vec![0; DISK]).unwrap_err();
    fill(&filler);
    // A table of several pages, as a part of a page may be free.
    let second = place
        .site
        .release_table(table("second") + &"# more\n".repeat(3000));
    for _ in 0..2 {
        let error = place.pull().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("No space left on device"), "{text}");
        assert_eq!(error.kind(), ErrorKind::Environment);
        place.has(&first);
        assert_eq!(place.names(), only(&[&first]), "nothing is half there");
    }
    fs::remove_file(&filler).unwrap();
    place.pull().unwrap();
    place.has(&second);
    // A pull that was killed has left so much that no table fits; the next one removes it.
    fill(&place.folder().join(".part-killed"));
    let third = place
        .site
        .release_table(table("third") + &"# more\n".repeat(3000));
    place.pull().unwrap();
    place.has(&third);
    assert!(Folder::last_good(&place.folder()).is_some());
}

#[test]
fn a_full_disk_keeps_the_last_good_table_until_there_is_space() {
    let disk = tempfile::tempdir().unwrap();
    // The disk is seen by the child alone, and goes with it.
    let script = "mount -t tmpfs -o size=\"$1\" none \"$TMPDIR\" && shift && exec \"$@\"";
    let apart = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh", &DISK.to_string()]);
        command.env("TMPDIR", disk.path()).args(words);
        command
    };
    let works = process::find_program("unshare").is_some_and(|_| {
        let ended = process::run_to_end(&mut apart(&["true"]), Duration::from_secs(5));
        ended.status.success()
    });
    if testkit::require("namespaces and other users", works.then_some(())).is_none() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    let test = "hostile::on_a_small_disk";
    let mut child = apart(&[program.to_str().unwrap(), "--ignored", "--exact", test]);
    let ended = process::run_to_end(&mut child, Duration::from_secs(30));
    assert!(ended.status.success(), "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("1 passed"), "{}", ended.out);
}
