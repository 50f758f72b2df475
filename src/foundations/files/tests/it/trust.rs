//! Folders that other accounts could redirect.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use files::{UntrustedFolder, check_folder};
use nix::unistd::Uid;
use tempfile::TempDir;
use testkit::process::{self, NOBODY};
use testkit::require;

/// A place with folders of this account and of another one.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn folder(&self, name: &str, mode: u32, owner: Option<u32>) {
        let path = self.path(name);
        fs::create_dir(&path).expect("made");
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("set");
        chown(&path, owner, None).expect("given away");
    }

    fn link(&self, name: &str, target: &str, owner: Option<u32>) {
        symlink(target, self.path(name)).expect("linked");
        lchown(self.path(name), owner, None).expect("given away");
    }
}

/// The name of what a refusal names.
fn refused(checked: &Path) -> String {
    let error = check_folder(checked).expect_err("refused");
    assert!(error.help().is_some_and(|help| !help.is_empty()));
    let named = match &error {
        UntrustedFolder::OfAnother { path, owner } => {
            assert!(error.to_string().contains(&format!("belongs to {owner}")));
            path
        }
        UntrustedFolder::OpenToAll { path } => path,
        UntrustedFolder::File { .. } => panic!("{error}"),
    };
    let name = named.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[test]
fn own_folders_are_trusted_and_folders_that_all_may_write_to_are_not() {
    let place = Place::new();
    place.folder("own", 0o755, None);
    place.folder("shared with a group", 0o2775, None);
    place.folder("open", 0o777, None);
    place.folder("sticky", 0o1777, None);
    place.link("link", "own", None);
    for name in [
        "own",
        "own/missing/too",
        "shared with a group",
        "link",
        "link/missing",
        "own/../own",
        // Nobody can remove or rename the entries of others there.
        "sticky/missing",
    ] {
        check_folder(&place.path(name)).expect(name);
    }
    assert_eq!(refused(&place.path("open")), "open");
    assert_eq!(refused(&place.path("sticky")), "sticky");
    check_folder(Path::new(".")).expect("the working directory");
}

/// What another account owns leads root nowhere.
#[test]
fn root_does_not_follow_another_account() {
    let root = Uid::effective().is_root().then_some(());
    if require("right to give files away", root).is_none() {
        return;
    }
    let place = Place::new();
    let other = Some(NOBODY);
    place.folder("own", 0o755, None);
    place.folder("other", 0o755, other);
    place.folder("other/of root", 0o755, None);
    place.folder("tmp", 0o1777, None);
    place.folder("tmp/own", 0o755, None);
    place.folder("tmp/other", 0o755, other);
    place.link("tmp/link", "../own", other);
    place.link("tmp/dangling", "nowhere", other);
    place.link("own/to other", "../other/of root", None);
    place.folder("open", 0o777, None);
    place.folder("open/own", 0o755, None);
    for name in ["own", "tmp/own", "tmp/own/missing", "tmp/missing"] {
        check_folder(&place.path(name)).expect(name);
    }
    for (name, expected) in [
        ("other", "other"),
        ("other/missing", "other"),
        ("other/of root", "other"),
        ("other/of root/missing", "other"),
        ("tmp/other", "other"),
        ("tmp/link", "link"),
        ("tmp/link/missing", "link"),
        ("tmp/dangling/missing", "dangling"),
        ("own/to other", "other"),
        ("own/../other", "other"),
        ("own/to other/../../own", "other"),
        ("open/own", "open"),
        ("open/missing", "open"),
    ] {
        assert_eq!(refused(&place.path(name)), expected, "{name}");
    }
    place.link("own/loop", "loop", None);
    let endless = check_folder(&place.path("own/loop")).expect_err("endless");
    assert!(endless.to_string().contains("links"), "{endless}");
}

#[test]
#[ignore = "a child process of the test below"]
fn in_a_namespace() {
    let Some(own) = std::env::var_os("COLLTUNE_TEST_FOLDER") else {
        return;
    };
    assert!(Uid::effective().is_root());
    check_folder(&Path::new(&own).join("missing")).expect("of this user");
    assert_eq!(refused(Path::new("/")), "");
}

/// In a namespace of a user, as in a container, root is that user, and the host's root is nobody.
#[test]
fn the_root_of_a_namespace_uses_folders_below_those_of_the_host() {
    let place = Place::new();
    place.folder("own", 0o755, None);
    fs::set_permissions(place.path(""), PermissionsExt::from_mode(0o755)).expect("set");
    let program = std::env::current_exe().expect("this program");
    let program = program.to_str().expect("text");
    let child = ["--ignored", "--exact", "trust::in_a_namespace"];
    let words = [&["unshare", "--map-root-user", program][..], &child].concat();
    let Some(mut inner) = process::as_another_user(NOBODY, &words) else {
        return;
    };
    chown(place.path("own"), Some(NOBODY), Some(NOBODY)).expect("given away");
    inner.env("COLLTUNE_TEST_FOLDER", place.path("own"));
    let ended = process::run_to_end(&mut inner, Duration::from_secs(20));
    // A host may forbid namespaces to users, or keep its programs from them.
    let works = !ended.err.contains("unshare: ");
    if require("namespace of another user", works.then_some(())).is_some() {
        let is_good = ended.status.success() && ended.out.contains("1 passed");
        assert!(is_good, "{ended:?}");
    }
}
