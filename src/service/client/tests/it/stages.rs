//! Files that a killed process leaves, and processes that use the same folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use client::{Folder, PullError};
use vocabulary::ErrorKind;

use crate::place::{Place, only, table};

/// A folder with one table, and a second one released.
fn begun() -> (Place, String, String) {
    let place = Place::new();
    let first = place.site.release_table(table("first"));
    place.pull().unwrap();
    let second = place.site.release_table(table("second"));
    (place, first, second)
}

#[test]
fn the_next_pull_continues_where_a_killed_one_stopped() {
    type Step = fn(&Place, &str);
    let steps: &[Step] = &[
        // Killed in the middle of writing a table.
        |place, _| fs::write(place.folder().join(".part-x"), "format: coll").unwrap(),
        // Killed before the link was replaced.
        |place, second| {
            let path = place.folder().join(format!("{second}.yaml"));
            fs::write(path, table("second")).unwrap();
        },
        // Killed while replacing the link.
        |place, second| {
            symlink(format!("{second}.yaml"), place.folder().join(".part-y")).unwrap();
        },
        // Killed before the state was written.
        |place, second| {
            fs::write(
                place.folder().join(format!("{second}.yaml")),
                table("second"),
            )
            .unwrap();
            fs::remove_file(place.folder().join("current")).unwrap();
            symlink(format!("{second}.yaml"), place.folder().join("current")).unwrap();
        },
        // The state is incomplete or missing.
        |place, _| fs::write(place.folder().join(".pulled.json"), "{\"url\":").unwrap(),
        |place, _| fs::remove_file(place.folder().join(".pulled.json")).unwrap(),
        // A power failure has emptied the table of the next release.
        |place, second| fs::write(place.folder().join(format!("{second}.yaml")), "").unwrap(),
    ];
    for step in steps {
        let (place, first, second) = begun();
        step(&place, &second);
        place.pull().unwrap();
        place.has(&second);
        assert_eq!(place.names(), only(&[&first, &second]));
        assert!(!place.pull().unwrap().is_new);
    }
}

#[test]
fn a_damaged_or_lost_table_is_fetched_again_without_a_new_release() {
    type Damage = fn(&Place, &str);
    let damages: &[Damage] = &[
        |place, digest| {
            let path = place.folder().join(format!("{digest}.yaml"));
            fs::remove_file(&path).unwrap();
            fs::write(path, "damaged").unwrap();
        },
        |place, digest| {
            fs::remove_file(place.folder().join(format!("{digest}.yaml"))).unwrap();
        },
        |place, _| fs::remove_file(place.folder().join("current")).unwrap(),
    ];
    for damage in damages {
        let place = Place::new();
        let digest = place.site.release_table(table("first"));
        place.pull().unwrap();
        damage(&place, &digest);
        assert!(Folder::last_good(&place.folder()).is_none());
        place.pull().unwrap();
        place.has(&digest);
    }
}

#[test]
fn other_files_are_left_alone() {
    type Other = fn(&Place);
    let others: &[Other] = &[
        |place| fs::create_dir_all(place.folder().join("current")).unwrap(),
        |place| {
            fs::create_dir_all(place.folder()).unwrap();
            fs::write(place.folder().join("current"), "mine").unwrap();
        },
        |place| {
            fs::create_dir_all(place.folder()).unwrap();
            symlink("/etc/passwd", place.folder().join("current")).unwrap();
        },
        |place| {
            fs::create_dir_all(place.folder()).unwrap();
            symlink(
                "night-2026-11-20-1f2e3d4c5b6a",
                place.folder().join("current"),
            )
            .unwrap();
        },
    ];
    for other in others {
        let place = Place::new();
        place.site.release_table(table("first"));
        other(&place);
        let before = place.names();
        let error = place.pull().unwrap_err();
        assert!(matches!(error, PullError::NotOurs { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Input);
        assert_eq!(place.names(), before);
    }
    // Files that only look like ours stay as well.
    let place = Place::new();
    let digest = place.site.release_table(table("first"));
    fs::create_dir_all(place.folder()).unwrap();
    fs::write(place.folder().join("mine.yaml"), "mine").unwrap();
    place.pull().unwrap();
    place.has(&digest);
    assert!(place.names().contains("mine.yaml"));
}

#[test]
fn a_folder_that_cannot_be_written_keeps_its_table() {
    let place = Place::new();
    fs::write(place.folder(), "a file").unwrap();
    let error = place.pull().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
}

#[test]
fn simultaneous_pulls_leave_one_whole_table() {
    let place = Arc::new(Place::new());
    place.site.release_table(table("first"));
    let done = Arc::new(AtomicBool::new(false));
    let watcher = thread::spawn({
        let (place, done) = (Arc::clone(&place), Arc::clone(&done));
        move || {
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                if fs::symlink_metadata(place.folder().join("current")).is_ok() {
                    assert!(Folder::last_good(&place.folder()).is_some(), "not whole");
                    seen += 1;
                }
            }
            seen
        }
    });
    let pullers = (0..4).map(|puller| {
        let place = Arc::clone(&place);
        thread::spawn(move || {
            for turn in 0..10 {
                if puller == 0 {
                    place.site.release_table(table(&format!("t{turn}")));
                }
                place.pull().unwrap();
            }
        })
    });
    for puller in pullers.collect::<Vec<_>>() {
        puller.join().unwrap();
    }
    done.store(true, Ordering::Relaxed);
    assert!(watcher.join().unwrap() > 0);
    let last = place.site.release_table(table("last"));
    place.site.keep_newest(1);
    place.pull().unwrap();
    place.has(&last);
    assert_eq!(place.names(), only(&[&last]));
}

#[test]
fn a_folder_that_stays_locked_is_an_error() {
    let (place, first, _) = begun();
    let taken = Folder::open(&place.folder(), Duration::ZERO).unwrap();
    let error = place.pull_within(Duration::from_millis(100)).unwrap_err();
    assert!(matches!(error, PullError::Busy { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Environment);
    place.has(&first);
    drop(taken);
    place.pull().unwrap();
}
