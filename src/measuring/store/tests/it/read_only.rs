//! Stores that another user may read and not write.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Uid};
use rusqlite::Connection;
use store::{Store, StoreError};
use vocabulary::Pattern;

use crate::fixture::library;
use crate::lock::{CHILD, start_child};
use crate::open::filled;

/// The user as which tests that run as root read a store: permissions do not restrict root.
const OTHER_USER: u32 = 65534;

/// Reads a store as a user who does not own it and prints the result.
#[test]
#[ignore = "a child process of the tests below"]
fn reader() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    if Uid::effective().is_root() {
        nix::unistd::setgid(Gid::from_raw(OTHER_USER)).expect("another group");
        nix::unistd::setuid(Uid::from_raw(OTHER_USER)).expect("another user");
    }
    let mut store = match Store::open(Path::new(&path)) {
        Ok(store) => store,
        Err(error) => return println!("\nrefused: {error}"),
    };
    let samples = store
        .samples(&library("openmpi"), Pattern::Together)
        .expect("readable")
        .len();
    println!(
        "\n{samples} samples, {} campaigns",
        store.campaigns().expect("readable").len()
    );
    match store.record_campaign("other", "b", "name: b") {
        Err(error @ StoreError::NotWritable { .. }) => println!("not written: {error}"),
        other => println!("written? {other:?}"),
    }
}

/// The output of the reader for a store.
fn read_by_another(path: &Path) -> String {
    let mut child = start_child("read_only::reader", path);
    let mut said = String::new();
    let mut output = child.stdout.take().expect("piped");
    output.read_to_string(&mut said).expect("text");
    child.wait().expect("ended");
    said
}

fn check_read(path: &Path, content: &str) {
    let said = read_by_another(path);
    assert!(said.contains(content), "{said}");
    assert!(said.contains("not written: cannot write to "), "{said}");
}

fn check_refused(path: &Path, reason: &str) {
    let said = read_by_another(path);
    assert!(said.contains("refused: cannot write to "), "{said}");
    assert!(said.contains(&path.display().to_string()), "{said}");
    assert!(said.contains(reason), "{said}");
    assert!(said.contains("have its owner run"), "{said}");
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
}

/// A folder of this mode with a closed store that is not writable.
struct Place {
    folder: tempfile::TempDir,
    store: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let store = filled(folder.path());
        Self { folder, store }
    }

    fn permit(&self, folder: u32, store: u32) {
        permit(&self.store, store);
        permit(self.folder.path(), folder);
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("readable");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a text")
        };
        entries.map(name).collect()
    }
}

impl Drop for Place {
    /// Makes the folder removable.
    fn drop(&mut self) {
        permit(self.folder.path(), 0o755);
    }
}

#[test]
fn a_store_can_be_read_if_file_or_folder_are_read_only() {
    let place = Place::new();
    for (folder, store) in [(0o555, 0o444), (0o777, 0o444), (0o555, 0o666)] {
        place.permit(folder, store);
        check_read(&place.store, "200 samples, 1 campaigns");
        assert_eq!(place.files(), ["a.db"], "{folder:o}, {store:o}");
    }
}

#[test]
fn a_store_is_found_by_every_path() {
    let place = Place::new();
    place.permit(0o755, 0o444);
    for name in [&b"a b?c#d%41&e=f.db"[..], b"\xff\xc3\xa4:@.db"] {
        let path = place.folder.path().join(OsStr::from_bytes(name));
        fs::copy(&place.store, &path).expect("copied");
        check_read(&path, "200 samples, 1 campaigns");
    }
}

#[test]
fn a_store_can_be_read_while_its_owner_writes() {
    let place = Place::new();
    let mut owner = Store::open(&place.store).expect("opened");
    owner
        .record_campaign("new", "b", "name: b")
        .expect("stored");
    for folder in [0o555, 0o777] {
        place.permit(folder, 0o644);
        check_read(&place.store, "200 samples, 2 campaigns");
    }
    // A reader that wrote beside the store would have removed this.
    owner
        .record_campaign("newer", "c", "name: c")
        .expect("stored");
    check_read(&place.store, "200 samples, 3 campaigns");
    permit(place.folder.path(), 0o755);
    drop(owner);
    assert_eq!(place.files(), ["a.db"]);
}

#[test]
fn stores_that_must_be_written_first_are_refused() {
    let place = Place::new();
    let log = place.store.with_extension("db-wal");
    fs::write(&log, "unreadable").expect("written");
    permit(&log, 0o000);
    place.permit(0o555, 0o444);
    check_refused(&place.store, "it is in use or was not closed (there is ");

    permit(place.folder.path(), 0o755);
    fs::remove_file(&log).expect("removed");
    permit(&place.store, 0o644);
    let other = Connection::open(&place.store).expect("opened");
    other
        .pragma_update(None, "user_version", 0)
        .expect("changed");
    drop(other);
    place.permit(0o555, 0o444);
    check_refused(
        &place.store,
        "it has store format 0 and must be brought to format 7",
    );
}
