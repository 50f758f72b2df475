//! One measuring process for each store, however it ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use store::{Lock, StoreError};

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
    let lock = Lock::acquire(&store).expect("free").path().to_owned();
    let probe = || {
        let file = File::open(&lock).expect("there");
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
