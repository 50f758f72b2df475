//! Writing replaces regular files, follows links, and writes to other files in place.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use files::{check_writable, is_same, is_special, write, write_by, write_without_sync};
use nix::libc::O_NONBLOCK;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{Uid, mkfifo};
use tempfile::TempDir;
use testkit::require;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("listed");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("read")
}

/// A FIFO and its reader, which does not block.
fn fifo(folder: &TempDir) -> (PathBuf, File) {
    let path = folder.path().join("fifo");
    mkfifo(&path, Mode::from_bits_truncate(0o600)).expect("a FIFO");
    let mut options = OpenOptions::new();
    let reader = options.read(true).custom_flags(O_NONBLOCK).open(&path);
    (path, reader.expect("opened"))
}

/// A second `/dev/null`, since an error here could replace the machine's. `None` if it cannot be made and used.
fn null(folder: &TempDir) -> Option<PathBuf> {
    let path = folder.path().join("null");
    let mode = Mode::from_bits_truncate(0o666);
    let made = Uid::effective().is_root()
        && mknod(&path, SFlag::S_IFCHR, mode, makedev(1, 3)).is_ok()
        && OpenOptions::new().append(true).open(&path).is_ok();
    require("device made here", made.then_some(path))
}

#[test]
fn a_new_file_is_written_with_its_folder() {
    let at = folder();
    let path = at.path().join("a/b/new");
    check_writable(&path).expect("possible");
    assert_eq!(
        names(&at.path().join("a/b")),
        [""; 0],
        "a probe leaves nothing"
    );
    write(&path, b"first").expect("written");
    assert_eq!(text(&path), "first");
    assert_eq!(names(&at.path().join("a/b")), ["new"]);
    let plain = at.path().join("plain");
    fs::write(&plain, "").expect("written");
    let mode = |file: &Path| fs::metadata(file).expect("there").mode();
    assert_eq!(mode(&path), mode(&plain), "as any new file");
}

#[test]
fn a_regular_file_is_replaced_whole_and_keeps_its_permissions() {
    let at = folder();
    let path = at.path().join("file");
    for mode in [0o600, 0o664, 0o640, 0o444, 0o755] {
        fs::write(&path, "a longer text than what comes").expect("written");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("set");
        let mut before = File::open(&path).expect("opened");
        check_writable(&path).expect("possible");
        write(&path, b"new").expect("written");
        assert_eq!(text(&path), "new");
        let found = fs::metadata(&path).expect("there");
        assert_eq!(found.mode() & 0o7777, mode);
        // A program that has opened it reads it to its end.
        let mut old = String::new();
        before.read_to_string(&mut old).expect("read");
        assert_eq!(old, "a longer text than what comes");
        assert_eq!(names(at.path()), ["file"]);
        fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn a_file_is_replaced_whole_without_waiting_for_the_disk() {
    let folder = folder();
    let path = folder.path().join("new/part");
    for content in ["first", "second"] {
        write_without_sync(&path, content.as_bytes()).expect("written");
        assert_eq!(text(&path), content);
    }
    assert_eq!(names(path.parent().expect("a folder")), ["part"]);
    assert!(write_without_sync(folder.path(), b"third").is_err());
}

#[test]
fn a_file_written_piece_by_piece_is_replaced_whole_or_not_at_all() {
    let folder = folder();
    let path = folder.path().join("a");
    write(&path, b"before").expect("written");
    let failed: io::Result<()> = write_by(&path, |output| {
        output.write_all(b"half")?;
        Err(ErrorKind::Other.into())
    });
    assert_eq!(failed.expect_err("an error").kind(), ErrorKind::Other);
    assert_eq!(
        (text(&path), names(folder.path())),
        ("before".to_owned(), vec!["a".to_owned()])
    );
    let pieces: io::Result<u32> = write_by(&path, |output| {
        output.write_all(b"first, ")?;
        output.write_all(b"second")?;
        Ok(2)
    });
    assert_eq!(
        (pieces.expect("written"), text(&path)),
        (2, "first, second".to_owned())
    );
}

#[test]
fn the_owner_of_a_replaced_file_stays_its_owner() {
    let at = folder();
    let path = at.path().join("file");
    fs::write(&path, "").expect("written");
    let root = Uid::effective().is_root().then_some(());
    if require("right to give files away", root).is_none() {
        return;
    }
    std::os::unix::fs::chown(&path, Some(4321), Some(1234)).expect("given away");
    write(&path, b"new").expect("written");
    let found = fs::metadata(&path).expect("there");
    assert_eq!((found.uid(), found.gid()), (4321, 1234));
}

#[test]
fn links_are_followed_and_stay() {
    let at = folder();
    let path = |name: &str| at.path().join(name);
    fs::create_dir(path("real")).expect("made");
    fs::write(path("real/file"), "old").expect("written");
    symlink("real", path("folder")).expect("linked");
    // Links relative to their folder, links to links, and links to missing files.
    symlink("../real/file", path("real/relative")).expect("linked");
    symlink(path("folder/relative"), path("chain")).expect("linked");
    symlink("real/new", path("dangling")).expect("linked");
    for (link, target) in [("chain", "real/file"), ("dangling", "real/new")] {
        check_writable(&path(link)).expect("possible");
        write(&path(link), link.as_bytes()).expect("written");
        assert_eq!(text(&path(target)), link);
        assert!(path(link).is_symlink() && !path(target).is_symlink());
    }
    symlink("loop", path("loop")).expect("linked");
    for tried in [check_writable(&path("loop")), write(&path("loop"), b"")] {
        assert!(tried.expect_err("endless").to_string().contains("links"));
    }
}

#[test]
fn a_fifo_is_written_to_in_place() {
    let at = folder();
    let (path, reader) = fifo(&at);
    symlink("fifo", at.path().join("link")).expect("linked");
    // More than a pipe holds: the writer waits for its reader.
    let long = "0123456789".repeat(100_000);
    for name in ["fifo", "link"] {
        let (name, long) = (at.path().join(name), long.clone());
        assert!(is_special(&name));
        check_writable(&name).expect("possible");
        let writer = thread::spawn(move || write(&name, long.as_bytes()));
        let (mut read, since) = (Vec::new(), Instant::now());
        while !writer.is_finished() || read.len() < 1_000_000 {
            assert!(since.elapsed() < Duration::from_secs(60), "{}", read.len());
            if let Err(error) = (&reader).take(65_536).read_to_end(&mut read) {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
            }
            thread::sleep(Duration::from_millis(1));
        }
        writer.join().expect("no panic").expect("written");
        assert_eq!(read.len(), 1_000_000);
    }
    let kind = fs::symlink_metadata(&path).expect("there").file_type();
    assert!(kind.is_fifo());
    assert_eq!(names(at.path()), ["fifo", "link"]);
}

#[test]
fn a_fifo_without_a_reader_is_an_error_after_a_while() {
    let at = folder();
    let (path, reader) = fifo(&at);
    drop(reader);
    let since = Instant::now();
    let error = write(&path, b"text").expect_err("no reader");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("start its reader"), "{error}");
    assert!(
        since.elapsed() > Duration::from_secs(4),
        "readers may come late"
    );
    // The writer waits for a late reader.
    let name = path.clone();
    let writer = thread::spawn(move || write(&name, b"text"));
    thread::sleep(Duration::from_millis(200));
    assert_eq!(text(&path), "text");
    writer.join().expect("no panic").expect("written");
}

#[test]
fn a_device_is_written_to_in_place() {
    let at = folder();
    let Some(path) = null(&at) else { return };
    symlink("null", at.path().join("link")).expect("linked");
    for name in ["null", "link"] {
        let name = at.path().join(name);
        assert!(is_special(&name));
        check_writable(&name).expect("possible");
        write(&name, b"text").expect("written");
        let found = fs::symlink_metadata(&path).expect("there");
        assert!(found.file_type().is_char_device());
        assert_eq!(found.rdev(), makedev(1, 3));
    }
    assert_eq!(names(at.path()), ["link", "null"]);
}

#[test]
fn open_files_of_a_process_are_written_to_in_place() {
    use std::os::fd::AsRawFd;
    let at = folder();
    let path = at.path().join("file");
    fs::write(&path, "before ").expect("written");
    let file = File::open(&path).expect("opened");
    let name = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    fs::remove_file(&path).expect("removed");
    assert!(is_special(&name));
    write(&name, b"after").expect("written");
    let mut found = String::new();
    (&file).read_to_string(&mut found).expect("read");
    assert_eq!(found, "before after");
    assert_eq!(names(at.path()), [""; 0]);
}

#[test]
fn paths_that_cannot_be_files_are_refused_and_not_changed() {
    let at = folder();
    fs::write(at.path().join("file"), "in the way").expect("written");
    fs::create_dir(at.path().join("folder")).expect("made");
    symlink("folder", at.path().join("link")).expect("linked");
    let long = "n".repeat(300);
    let before = names(at.path());
    for (name, part) in [
        ("folder", "it is a folder"),
        ("link", "it is a folder"),
        ("folder/", "it is a folder"),
        ("new/", "the name of a folder"),
        ("new/..", "the name of a folder"),
        (".", "it is a folder"),
        ("file/", "the name of a folder"),
        ("file/new", "no file can be created in"),
        ("a\0b", "NUL"),
        (&long, "too long"),
        ("/proc/new", "no file can be created in /proc"),
    ] {
        let path = at.path().join(name);
        for tried in [check_writable(&path), write(&path, b"text")] {
            let error = tried.expect_err(name).to_string();
            assert!(error.contains(part), "{name}: {error}");
        }
        assert_eq!(names(at.path()), before, "{name}");
    }
    assert_eq!(text(&at.path().join("file")), "in the way");
}

#[test]
fn names_of_the_same_file_are_known() {
    let at = folder();
    let path = |name: &str| at.path().join(name);
    fs::create_dir(path("real")).expect("made");
    fs::write(path("real/file"), "").expect("written");
    fs::write(path("real/other"), "").expect("written");
    fs::hard_link(path("real/file"), path("hard")).expect("linked");
    symlink("real/file", path("soft")).expect("linked");
    symlink("real", path("folder")).expect("linked");
    symlink("real/new", path("dangling")).expect("linked");
    for same in [
        &[
            "real/file",
            "hard",
            "soft",
            "folder/file",
            "real/./file",
            "real/../hard",
        ][..],
        // None of these exists.
        &[
            "real/new",
            "dangling",
            "folder/new",
            "real/none/../new",
            "./folder/../real/new",
        ],
        &["none/file", "./none/../none/file"],
    ] {
        for (one, other) in same.iter().flat_map(|a| same.iter().map(move |b| (a, b))) {
            assert!(is_same(&path(one), &path(other)), "{one} {other}");
            for different in ["real/other", "real/none", "new"] {
                assert!(!is_same(&path(one), &path(different)), "{one} {different}");
                assert!(!is_same(&path(different), &path(one)), "{one} {different}");
            }
        }
    }
}
