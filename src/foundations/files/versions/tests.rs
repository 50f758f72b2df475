//! A process that ends at any step leaves the version before or the next one.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::steps::{LAST_STEP, take_steps};
use super::*;

/// The variables with the folder and the kind of versions of [`changing`].
const FOLDER: &str = "COLLTUNE_TEST_VERSIONS";
const KIND: &str = "COLLTUNE_TEST_KIND";

/// Versions that are folders of two files, or files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Folders,
    Files,
}

impl Kind {
    fn open(self, path: &Path) -> Result<VersionsFolder, VersionsError> {
        let turns = match self {
            Self::Folders => Turns::Locked,
            Self::Files => Turns::LockedIfPossible(Duration::ZERO),
        };
        VersionsFolder::open(path, true, turns)
    }

    /// Writes a version that is `name` throughout, unless it is there.
    fn add_version(self, folder: &VersionsFolder, name: &str) -> Result<(), VersionsError> {
        let text = name.repeat(1000);
        let place = folder.path().join(name);
        if place.exists() {
            return Ok(());
        }
        match self {
            Self::Folders => folder.add_folder(name, |half| {
                let below = half.join("below");
                create_folder(&below, OPEN).map_err(VersionsError::for_file("create", &below))?;
                for path in [half.join("first"), below.join("second")] {
                    write_new(&path, text.as_bytes(), 0o444)
                        .map_err(VersionsError::for_file("write", &path))?;
                }
                symlink("below/second", half.join("link"))
                    .map_err(VersionsError::for_file("write", half))
            }),
            Self::Files => folder.write_file(&place, text.as_bytes(), 0o444),
        }
    }

    /// Whether a version is whole.
    fn is_whole(self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let files = match self {
            Self::Folders => vec![path.join("first"), path.join("link")],
            Self::Files => vec![path.to_owned()],
        };
        files.iter().all(|file| {
            let mode = fs::metadata(file).map(|found| found.permissions().mode() & 0o777);
            let text = crate::read_text(file).unwrap_or_default();
            text == name.repeat(1000) && mode.is_ok_and(|mode| mode == 0o444)
        })
    }

    /// The way from one version to the next.
    fn change(self, path: &Path) -> Result<(), VersionsError> {
        let folder = self.open(path)?;
        self.add_version(&folder, "new")?;
        folder.make_current("new")?;
        if path.join("old").exists() {
            folder.remove_version("old")?;
        }
        Ok(())
    }
}

/// A folder whose current version is `old`.
fn begun(kind: Kind) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let versions = kind.open(folder.path()).expect("opened");
    kind.add_version(&versions, "old").expect("written");
    versions.make_current("old").expect("current");
    folder
}

/// The names in a folder; each version must be whole.
fn checked_names(kind: Kind, folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        let is_version = !name.starts_with('.') && name != CURRENT;
        assert!(!is_version || kind.is_whole(&path), "{name} is half there");
        names.insert(name.into_owned());
    }
    names
}

/// Whether there is a file, a link or a folder.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[test]
#[ignore = "a child process of the test below"]
fn changing() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let kind = match std::env::var(KIND).as_deref() {
        Ok("Folders") => Kind::Folders,
        _ => Kind::Files,
    };
    kind.change(Path::new(&folder)).expect("changed");
}

#[test]
fn a_process_that_ends_at_any_step_leaves_the_old_version_or_the_new_one() {
    for kind in [Kind::Folders, Kind::Files] {
        let mut seen = Vec::new();
        for last_step in 1.. {
            let folder = begun(kind);
            let ended = Command::new(std::env::current_exe().expect("this program"))
                .args(["--exact", "versions::tests::changing", "--ignored"])
                .env(FOLDER, folder.path())
                .env(KIND, format!("{kind:?}"))
                .env(LAST_STEP, last_step.to_string())
                .output()
                .expect("started");
            let link = CurrentLink::read(folder.path()).expect("readable");
            let current = link.version_name().expect("a version").to_owned();
            assert!(kind.is_whole(&folder.path().join(&current)), "{last_step}");
            let names = checked_names(kind, folder.path());
            seen.push(current);
            if ended.status.success() {
                break;
            }
            assert_eq!(ended.status.code(), Some(3), "{ended:?}");
            // The next process completes the change, and nothing is left of the first one.
            kind.change(folder.path()).expect("completed");
            let after = checked_names(kind, folder.path());
            let expected = [".lock", "current", "new"].map(str::to_owned);
            assert_eq!(after, expected.into(), "{last_step}: {names:?}");
        }
        // The link was replaced once.
        let replaced = seen.iter().position(|name| name == "new");
        let replaced = replaced.expect("replaced in the end");
        assert!(replaced > 3 && replaced + 1 < seen.len(), "{seen:?}");
        assert!(
            seen[replaced..].iter().all(|name| name == "new"),
            "{seen:?}"
        );
    }
}

/// What a power failure could take back is on disk before what relies on it.
#[test]
fn everything_is_synced_before_it_gets_its_name() {
    for (kind, expected) in [
        (
            Kind::Folders,
            &[
                "created .half-written",
                "created first",
                "half written ",
                "synced first",
                "created second",
                "half written ",
                "synced second",
                "synced FILES",
                "synced .half-written",
                "complete .half-written",
                "renamed new",
                "synced FOLDER",
                "complete .next",
                "renamed current",
                "synced FOLDER",
                "renamed .half-written",
            ][..],
        ),
        (
            Kind::Files,
            &[
                "created TEMPORARY",
                "half written ",
                "synced TEMPORARY",
                "renamed new",
                "synced FOLDER",
                "complete TEMPORARY",
                "renamed current",
                "synced FOLDER",
            ],
        ),
    ] {
        let folder = begun(kind);
        take_steps();
        kind.change(folder.path()).expect("changed");
        let own = folder.path().file_name().expect("a name").to_string_lossy();
        let mut steps: Vec<String> = take_steps()
            .into_iter()
            .map(|step| step.replace(&*own, "FOLDER"))
            .map(|step| match step.find(PART) {
                Some(begin) => format!("{}TEMPORARY", &step[..begin]),
                None => step,
            })
            .collect();
        if kind == Kind::Folders {
            // The files of a folder are listed in any order.
            let tree: BTreeSet<String> = steps.drain(7..10).collect();
            let files = ["synced below", "synced first", "synced second"];
            assert_eq!(tree, files.map(str::to_owned).into());
            steps.insert(7, "synced FILES".to_owned());
        }
        assert_eq!(steps, expected);
    }
}

#[test]
fn only_one_process_changes_a_folder_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    for kind in [Kind::Folders, Kind::Files] {
        let held = kind.open(folder.path()).expect("opened");
        assert!(held.is_locked());
        let refused = kind.open(folder.path());
        assert!(
            matches!(&refused, Err(VersionsError::Busy { folder: of }) if of == folder.path()),
            "{refused:?}"
        );
        // A process that waits gets its turn.
        let release = std::thread::spawn(move || {
            sleep(Duration::from_millis(100));
            drop(held);
        });
        let patient = Turns::LockedIfPossible(Duration::from_secs(20));
        VersionsFolder::open(folder.path(), false, patient).expect("opened");
        release.join().expect("ended");
    }
}

#[test]
fn a_version_that_cannot_be_filled_does_not_get_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let versions = Kind::Folders.open(folder.path()).expect("opened");
    let failed = versions.add_folder("new", |half| {
        fs::write(half.join("first"), "new").expect("written");
        Err(VersionsError::Busy {
            folder: half.to_owned(),
        })
    });
    assert!(failed.is_err());
    assert!(!folder.path().join("new").exists());
    drop(versions);
    let reopened = Kind::Folders.open(folder.path()).expect("opened");
    let empty: Result<(), VersionsError> = reopened.add_folder("new", |_| Ok(()));
    empty.expect("written");
    let entries = fs::read_dir(folder.path().join("new")).expect("a folder");
    assert_eq!(entries.count(), 0, "nothing of the first attempt");
}

#[test]
fn files_with_unique_names_are_removed_and_what_cannot_be_removed_stops_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    for name in [".part-file", "other"] {
        fs::write(place(name), "half").expect("written");
    }
    symlink("nowhere", place(".part-link")).expect("a link");
    fs::create_dir(place(".part-folder")).expect("a folder");
    let versions = Kind::Files.open(folder.path()).expect("opened");
    versions
        .write_file(&place("new"), b"whole", 0o444)
        .expect("written");
    for name in [".part-file", ".part-link"] {
        assert!(!is_there(&place(name)), "{name}");
    }
    for name in [".part-folder", "other", "new"] {
        assert!(is_there(&place(name)), "{name}");
    }
}

#[test]
fn nothing_of_an_earlier_process_gets_into_a_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    // As an older colltune leaves them when it is killed.
    fs::write(place(".mended"), "half").expect("written");
    symlink("nowhere", place(".next-module")).expect("a link");
    let versions = Kind::Folders.open(folder.path()).expect("opened");
    assert!(!is_there(&place(".mended")) && !is_there(&place(".next-module")));
    // A process without the lock has made a folder since then.
    let leave_half = || {
        fs::create_dir(place(HALF)).expect("a folder");
        fs::write(place(HALF).join("half"), "half").expect("written");
    };
    leave_half();
    let added: Result<(), VersionsError> = versions.add_folder("new", |_| Ok(()));
    added.expect("written");
    let entries = fs::read_dir(place("new")).expect("a folder");
    assert_eq!(entries.count(), 0, "nothing of the other process");
    leave_half();
    versions.remove_version("new").expect("removed");
    assert!(!is_there(&place("new")) && !is_there(&place(HALF)));
    drop(versions);
    // What cannot be removed stops only those who need the name.
    fs::write(place(HALF), "a file").expect("written");
    let reopened = Kind::Folders.open(folder.path()).expect("opened");
    let refused: Result<(), VersionsError> = reopened.add_folder("new", |_| Ok(()));
    assert!(
        matches!(&refused, Err(VersionsError::File { path, .. }) if *path == place(HALF)),
        "{refused:?}"
    );
}

#[test]
fn the_folders_above_a_new_folder_are_synced_before_its_lock_is_made() {
    let above = tempfile::tempdir().expect("a folder");
    let path = above.path().join("a/b");
    let own = above.path().file_name().expect("a name").to_string_lossy();
    let open = || drop(Kind::Folders.open(&path).expect("opened"));
    take_steps();
    open();
    assert_eq!(
        take_steps(),
        ["synced a".to_owned(), format!("synced {own}")]
    );
    open();
    assert_eq!(take_steps(), [""; 0], "it has a lock");
    // As a process leaves it that was killed before the sync.
    fs::remove_file(path.join(VERSIONS_LOCK)).expect("removed");
    open();
    assert_eq!(take_steps(), ["synced a"]);
}

#[test]
fn only_a_link_to_a_name_in_the_folder_is_current() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join(CURRENT);
    let read = || CurrentLink::read(folder.path()).expect("readable");
    assert_eq!(read(), CurrentLink::Missing);
    for (target, expected) in [
        ("new", CurrentLink::Version("new".into())),
        ("..", CurrentLink::Elsewhere("..".into())),
        ("/etc", CurrentLink::Elsewhere("/etc".into())),
        ("new/below", CurrentLink::Elsewhere("new/below".into())),
    ] {
        symlink(target, &place).expect("a link");
        assert_eq!(read(), expected);
        remove_current_link(folder.path()).expect("removed");
        assert_eq!(read(), CurrentLink::Missing);
    }
    fs::create_dir(&place).expect("a folder");
    assert_eq!(read(), CurrentLink::NotALink);
    remove_current_link(folder.path()).expect("nothing to do");
    assert!(place.is_dir());
    remove_current_link(&folder.path().join("none")).expect("nothing to do");
}

#[test]
fn files_below_a_folder_are_whole_and_have_their_modes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a/b/file");
    take_steps();
    for text in ["first", "second"] {
        write_below(folder.path(), &path, text.as_bytes(), 0o444, 0o700).expect("written");
        assert_eq!(crate::read_text(&path).expect("text"), text);
    }
    for (name, mode) in [("a/b/file", 0o444), ("a/b", 0o700), ("a", 0o700)] {
        let found = fs::metadata(folder.path().join(name)).expect("there");
        assert_eq!(found.permissions().mode() & 0o777, mode, "{name}");
    }
    let synced: Vec<String> = take_steps()
        .into_iter()
        .filter(|step| step.starts_with("synced") && !step.contains(".new-"))
        .collect();
    let own = folder.path().file_name().expect("a name").to_string_lossy();
    // The second time, no folder is new.
    let root = format!("synced {own}");
    assert_eq!(synced, ["synced a", &root, "synced b", "synced b"]);
    let names: Vec<_> = fs::read_dir(folder.path().join("a/b"))
        .expect("a folder")
        .collect();
    assert_eq!(names.len(), 1, "no temporary file is left");
    // As a process leaves folders that was killed before they were synced: the upper one is not empty.
    fs::create_dir_all(folder.path().join("c/d")).expect("folders");
    for (name, expected) in [
        ("c/file", &[&*root, "synced c"][..]),
        ("c/d/file", &["synced c", &root, "synced d"]),
        ("c/other", &["synced c"]),
        ("file", &[&root]),
    ] {
        take_steps();
        let place = folder.path().join(name);
        write_below(folder.path(), &place, b"text", 0o444, 0o700).expect("written");
        let mut steps = take_steps();
        steps.retain(|step| step.starts_with("synced") && !step.contains(".new-"));
        assert_eq!(steps, expected, "{name}");
    }
}
