//! One measuring process for each campaign, over all hosts.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use store::{Holder, Lease, StoreError};

/// The time between renewals of a lease, and the time after which an unrenewed one is invalid.
const RENEWAL: Duration = Duration::from_secs(60);
const STALE: Duration = Duration::from_secs(600);

/// Above the largest id that Linux gives.
const GONE: u32 = 1 << 30;

/// Another process's lease, of this age.
fn plant(folder: &Path, host: &str, pid: u32, age: Duration) -> Holder {
    let path = folder.join("lease");
    fs::write(&path, format!("{pid} {host} 1795000000000000000\n")).expect("written");
    let file = File::options().write(true).open(&path).expect("opened");
    let then = SystemTime::now() - age;
    file.set_modified(then).expect("turned back");
    Holder {
        pid,
        host: host.to_owned(),
        since: Duration::from_secs(1_795_000_000),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("readable");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_lease_has_one_holder_and_is_released() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let place = folder.path().join("new");
    let lease = Lease::acquire(&place).expect("free");
    let refused = Lease::acquire(&place).expect_err("held");
    let this = std::process::id();
    assert!(
        matches!(&refused, StoreError::Locked { holder: Some(holder), .. } if holder.pid == this),
        "{refused:?}"
    );
    assert_eq!(names(&place), ["lease"]);
    assert!(!lease.is_lost());
    drop(lease);
    assert_eq!(names(&place), [] as [&str; 0]);
    Lease::acquire(&place).expect("free again");
}

#[test]
fn of_many_at_once_one_gets_the_lease_even_after_a_stale_one() {
    let folder = tempfile::tempdir().expect("temporary folder");
    for _ in 0..20 {
        plant(folder.path(), "far", 1, STALE + RENEWAL);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let path = folder.path().to_owned();
                std::thread::spawn(move || Lease::acquire(&path).ok())
            })
            .collect();
        let leases: Vec<Option<Lease>> = threads
            .into_iter()
            .map(|thread| thread.join().expect("joined"))
            .collect();
        assert!(leases.iter().flatten().count() <= 1);
    }
}

/// Whether processes of another host have ended is unknown.
#[test]
fn a_lease_is_valid_until_it_is_stale_or_its_process_has_ended() {
    let here = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let here = here.trim();
    for (host, pid, age, is_free) in [
        ("far", 1, Duration::ZERO, false),
        ("far", GONE, STALE - RENEWAL, false),
        ("far", 1, STALE + RENEWAL, true),
        (here, GONE, Duration::ZERO, true),
        (here, 1, Duration::ZERO, false),
        (here, std::process::id(), Duration::ZERO, false),
    ] {
        let folder = tempfile::tempdir().expect("temporary folder");
        let holder = plant(folder.path(), host, pid, age);
        match Lease::acquire(folder.path()) {
            Ok(_) => assert!(is_free, "{host} {pid} {age:?}"),
            Err(StoreError::Locked { holder: named, .. }) => {
                assert!(!is_free, "{host} {pid} {age:?}");
                assert_eq!(named, Some(holder));
                assert_eq!(names(folder.path()), ["lease"]);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_lease_is_shown_with_its_holder_and_time() {
    let holder: Holder = "7 login1 1795000000000000000\n".parse().expect("a holder");
    let told = "process 7 on login1, since 2026-11-18 11:06:40 UTC";
    assert_eq!(holder.to_string(), told);
    for text in ["", "1", "x host 3", "1 host x", "1 host 3 more"] {
        assert_eq!(text.parse::<Holder>(), Err(()), "{text}");
    }
}
