//! What other accounts of the host can read, lock and redirect, under any umask.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use service::{Configuration, Service, ServiceError, restore_backup, write_backup};
use testkit::process::{self, NOBODY};

use crate::bed::{Bed, choosing};
use crate::fixture::Place;

/// The value of a setting of the unit for systemd.
fn of_unit(setting: &str) -> String {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/colltune.service");
    let unit = fs::read_to_string(unit).expect("the unit");
    let found = unit.lines().find_map(|line| line.strip_prefix(setting));
    found.expect("a setting").to_owned()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path)
        .expect("there")
        .permissions()
        .mode()
        & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("set");
}

/// Everything below a folder, links not followed.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(below(&path));
        }
        found.push(path);
    }
    found
}

/// Checks the modes of a state with one release, and lets a job of another user read it.
#[track_caller]
fn check(state: &Path) {
    assert_eq!(mode(state), 0o711);
    for entry in fs::read_dir(state).expect("a folder") {
        let path = entry.expect("an entry").path();
        if !path.ends_with("channels") {
            assert_eq!(mode(&path) & 0o077, 0, "{path:?}");
        }
    }
    for path in below(&state.join("channels")) {
        let expected = match path.file_name().and_then(|name| name.to_str()) {
            _ if path.is_symlink() => continue,
            Some(".lock") => 0o600,
            Some("history") => 0o644,
            Some("with-table") => 0o555,
            _ if path.is_dir() => 0o755,
            _ => 0o444,
        };
        assert_eq!(mode(&path), expected, "{path:?}");
    }
    let current = state.join("channels/local/openmpi-4.1.4/production/current");
    let script = "cd /; . \"$1/environment.sh\"; . \"$1/slurm.sh\"; cat \"$1/../history\" >&2; \
                  cat \"$COLLTUNE_RELEASE\"/* >/dev/null 2>&1; test -r \"$COLLTUNE_RELEASE/table.yaml\"; \
                  echo \"the job goes on with $COLLTUNE_RELEASE\"; cd \"$2\"; \
                  for name in lock service.db token channels/local/openmpi-4.1.4/production/.lock; do \
                  if flock -n -s \"$name\" true; then echo \"BROKEN: it can lock $name\"; fi; done; \
                  if ls . blobs tasks; then echo 'BROKEN: it can list'; fi";
    let words = ["sh", "-uc", script, "sh"].map(str::to_owned);
    let paths = [&current, state].map(|path| path.to_str().expect("text").to_owned());
    let words: Vec<String> = words.into_iter().chain(paths).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(mut job) = process::as_another_user(NOBODY, &words) else {
        return;
    };
    let ended = process::run_to_end(&mut job, Duration::from_secs(20));
    let version = fs::canonicalize(&current).expect("a version");
    let expected = format!("the job goes on with {}\n", version.display());
    assert_eq!(ended.out, expected, "{ended:?}");
    assert!(!ended.err.contains("warning"), "{ended:?}");
}

/// Opens the service of a state, and ends it.
fn served(folder: &Path, state: &Path) {
    let mut configuration = Configuration::for_folder(folder).expect("configured");
    configuration.state = state.to_owned();
    let service = Service::open(configuration, "/nowhere/colltune".into()).expect("opened");
    assert_eq!(service.list_problems(), [""; 0]);
    service.owner_token().expect("a token");
}

#[test]
#[ignore = "a child process of the test below"]
fn modes_of_this_umask() {
    let bed = Bed::closed(|_| {});
    let open = u32::from_str_radix(&of_unit("StateDirectoryMode="), 8).expect("a mode");
    set_mode(bed.folder(), open);
    let mut bed = bed.opened();
    let digest = bed.validated(&choosing("chain"));
    bed.release(&digest).expect("released");
    bed.service().owner_token().expect("a token");
    check(&bed.state());

    // A backup is the service's own, and becomes such a state again.
    let [copy, restored] = ["backups/copy", "restored/service"].map(|name| bed.folder().join(name));
    write_backup(&bed.state(), &copy).expect("backed up");
    assert_eq!(mode(&copy), 0o700);
    restore_backup(&copy, &restored).expect("restored");
    assert_eq!(mode(&restored), 0o711);
    served(bed.folder(), &restored);
    check(&restored);

    // A start mends the modes of a copied state, or of one that an earlier version has made.
    bed.close();
    let state = bed.state();
    for path in below(&state).iter().chain([&state]) {
        if !path.is_symlink() && !path.ends_with("token") {
            set_mode(path, if path.is_dir() { 0o700 } else { 0o600 });
        }
    }
    for name in ["blobs", "blobs/sha256", "service.db", "lock"] {
        let path = state.join(name);
        set_mode(&path, if path.is_dir() { 0o755 } else { 0o644 });
    }
    served(bed.folder(), &state);
    check(&state);
}

/// A job of another user reads the channels, and nothing else, under any umask, such as that of the shipped unit.
#[test]
fn all_users_can_read_the_channels_under_any_umask() {
    for umask in ["000", "022", "027", "077", &of_unit("UMask=")] {
        let mut child = process::under_umask(umask, "modes::modes_of_this_umask");
        let ended = process::run_to_end(&mut child, Duration::from_secs(60));
        let is_good = ended.status.success() && ended.out.contains("1 passed");
        assert!(is_good, "{umask}: {}{}", ended.out, ended.err);
    }
}

/// Parts of a state may lie on other disks.
#[test]
fn a_state_and_its_folders_may_be_links() {
    let mut bed = Bed::new();
    let digest = bed.validated(&choosing("chain"));
    bed.release(&digest).expect("released");
    bed.close();
    let (state, elsewhere) = (bed.state(), bed.folder().join("elsewhere"));
    fs::create_dir(&elsewhere).expect("made");
    let move_away = |from: &Path, name: &str| {
        let to = elsewhere.join(name);
        fs::rename(from, &to).expect("moved");
        symlink(&to, from).expect("linked");
        set_mode(&to, 0o700);
    };
    for name in ["blobs", "channels"] {
        move_away(&state.join(name), name);
    }
    move_away(&state, "state");
    served(bed.folder(), &state);
    for (name, expected) in [("state", 0o711), ("channels", 0o755), ("blobs", 0o700)] {
        assert_eq!(mode(&elsewhere.join(name)), expected, "{name}");
    }
}

#[test]
fn the_way_to_the_channels_is_opened_if_that_opens_nothing_else() {
    let place = Place::new();
    let folder = place.path("");
    for (name, mode) in [("tuning", 0o750), ("private", 0o600)] {
        fs::create_dir(folder.join(name)).expect("made");
        set_mode(&folder.join(name), mode);
    }
    // The entry "tuning" is open to the group.
    for (before, after) in [
        (0o750, 0o751),
        (0o710, 0o711),
        (0o700, 0o700),
        (0o755, 0o755),
    ] {
        set_mode(&folder, before);
        drop(place.open());
        assert_eq!(mode(&folder), after, "{before:o}");
    }
    set_mode(&folder.join("tuning"), 0o700);
    set_mode(&folder, 0o700);
    drop(place.open());
    assert_eq!(mode(&folder), 0o711);
    // Others could read this file.
    fs::write(folder.join("open"), "").expect("written");
    set_mode(&folder.join("open"), 0o604);
    set_mode(&folder, 0o750);
    drop(place.open());
    assert_eq!(mode(&folder), 0o750);
}

/// What another user owns leads root nowhere.
#[test]
fn states_and_backups_in_the_folder_of_another_user_are_refused() {
    let place = Place::new();
    drop(place.open());
    write_backup(&place.state(), &place.path("backup")).expect("backed up");
    if process::as_another_user(NOBODY, &["true"]).is_none() {
        return;
    }
    let (other, made) = (place.path("other"), place.path("made"));
    fs::create_dir(&other).expect("made");
    symlink(&made, other.join("lock")).expect("linked");
    symlink(&made, other.join("service.db")).expect("linked");
    chown(&other, Some(NOBODY), None).expect("given away");
    let mut configuration = place.configuration();
    configuration.state.clone_from(&other);
    let opened = Service::open(configuration, "/nowhere/colltune".into());
    for refused in [
        opened.map(drop),
        write_backup(&place.state(), &other.join("backup")),
        restore_backup(&place.path("backup"), &other.join("service")),
    ] {
        let refused = refused.expect_err("refused");
        assert!(matches!(refused, ServiceError::Untrusted(_)), "{refused}");
        assert!(refused.help().is_some());
    }
    assert!(!made.exists());
    assert_eq!(fs::read_dir(&other).expect("a folder").count(), 2);
}
