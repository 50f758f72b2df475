//! Modes that do not depend on the umask, and files that are opened in place.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use files::{create_folder, create_new, open_lock, open_temporary_lock, set_folder_mode};
use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo};
use testkit::process::{self, NOBODY};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o7777
}

#[test]
#[ignore = "a child process of the test below"]
fn modes_of_this_umask() {
    let at = tempfile::tempdir().expect("a folder");
    let path = |name: &str| at.path().join(name);
    create_folder(&path("a/b/c"), 0o755).expect("made");
    create_folder(&path("a/b"), 0o700).expect("there");
    for folder in ["a", "a/b", "a/b/c"] {
        assert_eq!(mode(&path(folder)), 0o755, "{folder}");
    }
    set_folder_mode(&path("a/b"), 0o711).expect("set");
    assert_eq!(mode(&path("a/b")), 0o711);
    drop(create_new(&path("file"), 0o444).expect("made"));
    assert_eq!(mode(&path("file")), 0o444);
    for lock in [0o600, 0o660] {
        drop(open_lock(&path("lock"), lock).expect("opened"));
        assert_eq!(mode(&path("lock")), lock);
    }
}

#[test]
fn modes_do_not_depend_on_the_umask() {
    for umask in ["000", "022", "027", "077", "277"] {
        let mut child = process::under_umask(umask, "folder::modes_of_this_umask");
        let ended = process::run_to_end(&mut child, Duration::from_secs(20));
        let is_good = ended.status.success() && ended.out.contains("1 passed");
        assert!(is_good, "{umask}: {ended:?}");
    }
}

#[test]
fn a_lock_of_an_earlier_version_is_closed_to_others_and_still_excludes_it() {
    let at = tempfile::tempdir().expect("a folder");
    let path = at.path().join("lock");
    let earlier = File::create(&path).expect("made");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("set");
    earlier.lock().expect("locked");
    let lock = open_lock(&path, 0o600).expect("opened");
    assert_eq!(mode(&path), 0o600);
    assert!(lock.try_lock().is_err(), "the earlier version has it");
    drop(earlier);
    lock.try_lock().expect("free");
}

#[test]
fn only_regular_files_are_locked_and_no_link_is_followed() {
    let at = tempfile::tempdir().expect("a folder");
    let path = |name: &str| at.path().join(name);
    mkfifo(&path("fifo"), Mode::S_IRWXU).expect("made");
    fs::create_dir(path("folder")).expect("made");
    symlink(path("made"), path("dangling")).expect("linked");
    fs::write(path("file"), "").expect("written");
    symlink(path("file"), path("link")).expect("linked");
    let since = Instant::now();
    for (name, expected) in [
        ("fifo", "it is a device, a FIFO or a socket"),
        ("dangling", "it is a symbolic link"),
        ("link", "it is a symbolic link"),
    ] {
        let error = open_lock(&path(name), 0o600).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        assert!(error.to_string().contains(expected), "{name}: {error}");
    }
    open_lock(&path("folder"), 0o600).expect_err("a folder");
    assert!(!path("made").exists());
    let error = set_folder_mode(&path("link"), 0o700).expect_err("a link");
    assert!(!error.to_string().is_empty());
    assert!(since.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_temporary_lock_is_of_this_account_alone() {
    let name = format!("test-{}", std::process::id());
    let path = std::env::temp_dir().join(format!("colltune-{}-{name}.lock", Uid::effective()));
    let lock = open_temporary_lock(&name).expect("opened");
    lock.try_lock().expect("free");
    assert_eq!(mode(&path), 0o600);
    let again = open_temporary_lock(&name).expect("opened");
    again.try_lock().expect_err("it is held");
    fs::remove_file(&path).expect("removed");
    if process::as_another_user(NOBODY, &["true"]).is_none() {
        return;
    }
    File::create(&path).expect("made");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).expect("set");
    std::os::unix::fs::chown(&path, Some(NOBODY), None).expect("given away");
    let refused = open_temporary_lock(&name).expect_err("of another account");
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
    fs::remove_file(&path).expect("removed");
}
