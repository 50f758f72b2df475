//! One measuring process for each store, however it ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use store::{Lock, StoreError};
use testkit::process;

/// The variable that names the store to child processes of tests.
pub(crate) const CHILD: &str = "COLLTUNE_TEST_STORE";

/// Runs one of the ignored tests of this binary as another process, with its output piped.
pub(crate) fn start_child(test: &str, store: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", test, "--nocapture"])
        .env(CHILD, store)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started")
}

#[test]
#[ignore = "a child process of the tests below"]
fn holder() {
    let Some(store) = std::env::var_os(CHILD) else {
        return;
    };
    let _lock = Lock::acquire(Path::new(&store)).expect("free");
    println!("\nheld");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_second_process_is_refused_until_the_first_is_killed() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let store = folder.path().join("new/a.db");
    let mut child = start_child("lock::holder", &store);
    let output = BufReader::new(child.stdout.take().expect("piped"));
    assert!(output.lines().any(|line| line.expect("text") == "held"));

    let start = Instant::now();
    let error = Lock::acquire(&store).expect_err("held by the child");
    assert!(
        start.elapsed() >= Duration::from_secs(2),
        "drivers may hold it for an instant"
    );
    assert!(start.elapsed() < Duration::from_secs(10));
    let holder = child.id();
    assert!(
        matches!(&error, StoreError::Locked { store: named, holder: Some(by) }
            if *named == store && by.pid == holder),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        text.contains("another colltune") && text.contains(&holder.to_string()),
        "{text}"
    );

    child.kill().expect("killed");
    child.wait().expect("ended");
    let lock = Lock::acquire(&store).expect("free again");
    let written = fs::read_to_string(lock.path()).expect("readable");
    let this = format!("{} ", std::process::id());
    assert!(written.starts_with(&this), "{written}");
    drop(lock);
    Lock::acquire(&store).expect("released on drop");
}

#[test]
fn a_probe_by_a_driver_does_not_block_the_lock() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let store = folder.path().join("a.db");
    let lock_path = Lock::acquire(&store).expect("free").path().to_owned();
    let probe = || {
        let file = File::open(&lock_path).expect("there");
        Flock::lock(file, FlockArg::LockSharedNonblock).map_err(|(_, errno)| errno)
    };
    let probing = probe().expect("no other holds it");
    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(probing);
    });
    let lock = Lock::acquire(&store).expect("patient");
    assert!(probe().is_err(), "the lock is held");
    release.join().expect("released");
    drop(lock);
    probe().expect("the lock is gone");
}

/// Whoever may open a lock may hold it, so those accounts may that may write to the store.
#[test]
fn accounts_that_share_a_store_exclude_each_other_and_others_cannot_hold_its_lock() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let store = folder.path().join("a.db");
    let lock_path = store.with_extension("db.lock");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o7777;
    let set_mode = |path: &Path, bits| {
        fs::set_permissions(path, fs::Permissions::from_mode(bits)).expect("set");
    };
    // An earlier version made the lock, before there was a store.
    fs::write(&lock_path, "").expect("written");
    set_mode(&lock_path, 0o644);
    drop(Lock::acquire(&store).expect("free"));
    assert_eq!(mode(&lock_path), 0o600);
    fs::write(&store, "").expect("written");
    for (of_store, expected) in [
        (0o600, 0o600),
        (0o644, 0o600),
        (0o660, 0o660),
        (0o664, 0o660),
        (0o666, 0o666),
        (0o444, 0o600),
    ] {
        set_mode(&store, of_store);
        drop(Lock::acquire(&store).expect("free"));
        assert_eq!(mode(&lock_path), expected, "{of_store:o}");
    }
    // As another user, in the group of the store.
    const GROUP: u32 = 4321;
    set_mode(folder.path(), 0o755);
    let name = lock_path.to_str().expect("text");
    let hold = ["flock", "--conflict-exit-code", "7", "-n", name, "true"];
    let is_refused = |code| {
        let mut command = process::as_another_user(GROUP, &hold)?;
        let ended = process::run_to_end(&mut command, Duration::from_secs(5));
        assert_eq!(ended.status.code(), Some(code), "{ended:?}");
        Some(ended)
    };
    if process::as_another_user(GROUP, &["true"]).is_none() {
        return;
    }
    std::os::unix::fs::chown(&store, None, Some(GROUP)).expect("given to the group");
    set_mode(&store, 0o664);
    let lock = Lock::acquire(&store).expect("free");
    is_refused(7).expect("it is held");
    drop(lock);
    is_refused(0).expect("it is free");
    // A group that may only read it cannot hold its lock.
    set_mode(&store, 0o644);
    drop(Lock::acquire(&store).expect("free"));
    let denied = is_refused(66).expect("it may not open it");
    assert!(denied.err.contains("Permission denied"), "{denied:?}");
    // Root measures for another user, who keeps the lock.
    std::os::unix::fs::chown(&store, Some(process::NOBODY), None).expect("given away");
    drop(Lock::acquire(&store).expect("free"));
    is_refused(0).expect("it is theirs");
}

#[test]
fn a_fifo_or_a_link_in_place_of_the_lock_is_refused() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let store = folder.path().join("a.db");
    let (path, made) = (store.with_extension("db.lock"), folder.path().join("made"));
    mkfifo(&path, Mode::S_IRWXU).expect("made");
    let refused = |what: &str| {
        let error = Lock::acquire(&store).expect_err("refused").to_string();
        assert!(error.contains(what), "{error}");
    };
    refused("a FIFO");
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink(&made, &path).expect("linked");
    refused("a symbolic link");
    assert!(!made.exists());
}
