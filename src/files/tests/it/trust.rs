//! Folders that other accounts could redirect.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use files::{UntrustedFolder, check_folder};
use nix::unistd::Uid;
use tempfile::TempDir;
use testkit::process::NOBODY;
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
fn refused(path: &Path) -> String {
    let error = check_folder(path).expect_err("refused");
    assert!(error.help().is_some_and(|help| !help.is_empty()));
    let named = match &error {
        UntrustedFolder::OfAnother { path, owner } => {
            assert!(error.to_string().contains(&format!("belongs to {owner}")));
            path
        }
        UntrustedFolder::OpenToAll { path } => path,
        UntrustedFolder::File { .. } => panic!("{error}"),
    };
    let name = named.file_name().expect("a name");
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
