//! Locations of stores that must not be beside their campaigns.
//!
//! SQLite is unreliable on file systems that several hosts share. Campaigns for clusters are usually on such a file
//! system, with the plans and spools of their launches, which nodes must see. The store then goes to a local disk of
//! the login node. It can be made again from the launches at any time, on every login node.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use campaign::{Campaign, LauncherConfig};
use nix::unistd::Uid;
use sha2::{Digest, Sha256};

use crate::launch::absolute_utf8_path;

/// The folders for a user's program data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDirs {
    /// The value of `$XDG_STATE_HOME`.
    pub state: Option<PathBuf>,
    /// The value of `$HOME`.
    pub home: Option<PathBuf>,
}

impl StateDirs {
    /// `$XDG_STATE_HOME/colltune` or `~/.local/state/colltune` if that is local, or else
    /// `/var/tmp/colltune-UID`.
    fn local_folder(&self, is_shared: &dyn Fn(&Path) -> bool) -> PathBuf {
        let state = self.state.clone().filter(|path| path.is_absolute());
        let below_home = self.home.as_ref().map(|home| home.join(".local/state"));
        let own = state.or(below_home).filter(|path| !is_shared(path));
        own.map_or_else(
            || PathBuf::from(format!("/var/tmp/colltune-{}", Uid::effective())),
            |folder| folder.join("colltune"),
        )
    }
}

/// The file of the store `named`: that path if it exists, or else its replacement on this host's local disk if that
/// exists.
pub fn store_file(named: &Path, homes: &StateDirs) -> PathBuf {
    if named.exists() {
        named.to_owned()
    } else {
        local_store_path(named, homes, &is_on_network)
            .filter(|path| path.exists())
            .unwrap_or_else(|| named.to_owned())
    }
}

/// The store's path on the local disk, for a campaign that is measured in jobs, names no store, has none yet, and would
/// have it on a shared file system; otherwise `None`. Creates the store's folder; `None` also if that fails, or if the folder
/// belongs to another user.
pub(crate) fn relocated_store_path(campaign: &Campaign, homes: &StateDirs) -> Option<PathBuf> {
    let named = &campaign.output.store;
    let is_default = *named == Path::new(".colltune").join(format!("{}.db", campaign.name));
    let may_move = matches!(campaign.launcher, LauncherConfig::Batch(_)) && is_default;
    if !may_move || named.exists() || !is_on_network(named) {
        return None;
    }
    let path = local_store_path(named, homes, &is_on_network)?;
    create_own_folder(path.parent()?).then_some(path)
}

fn is_on_network(path: &Path) -> bool {
    files::network_file_system(path).is_some()
}

/// The path on this host's local disk that replaces that of a store.
fn local_store_path(
    named: &Path,
    homes: &StateDirs,
    is_shared: &dyn Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let whole = absolute_utf8_path(named).ok()?;
    let digest = Sha256::digest(whole.as_os_str().as_encoded_bytes());
    let hex = files::hexadecimal(&digest[..8]);
    let stem = named.file_stem()?.to_string_lossy().into_owned();
    Some(
        homes
            .local_folder(is_shared)
            .join(format!("{stem}-{hex}.db")),
    )
}

/// Creates a folder for this user alone; false if it belongs to another user, since all users may write to `/var/tmp`.
fn create_own_folder(folder: &Path) -> bool {
    if let Some(above) = folder.parent()
        && fs::create_dir_all(above).is_err()
    {
        return false;
    }
    // The folder may exist already.
    let _ = DirBuilder::new().mode(0o700).create(folder);
    fs::symlink_metadata(folder)
        .is_ok_and(|found| found.is_dir() && found.uid() == Uid::effective().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes(state: Option<&str>, home: &str) -> StateDirs {
        StateDirs {
            state: state.map(PathBuf::from),
            home: Some(home.into()),
        }
    }

    #[test]
    fn the_users_folder_is_used_if_hosts_do_not_share_it() {
        let of_user = format!("/var/tmp/colltune-{}", Uid::effective());
        let is_shared = |path: &Path| path.starts_with("/shared");
        for (state, home, expected) in [
            (None, "/home/a", "/home/a/.local/state/colltune"),
            (Some("/var/a"), "/home/a", "/var/a/colltune"),
            (Some("relative"), "/home/a", "/home/a/.local/state/colltune"),
            (None, "/shared/a", &of_user),
            (Some("/shared/state"), "/home/a", &of_user),
        ] {
            let folder = homes(state, home).local_folder(&is_shared);
            assert_eq!(folder, Path::new(expected), "{state:?} {home}");
        }
    }

    #[test]
    fn each_campaign_has_its_own_file() {
        let place = |named: &str| {
            let path = local_store_path(Path::new(named), &homes(None, "/home/a"), &|_| false);
            path.expect("a path").display().to_string()
        };
        let one = place("/shared/p/.colltune/night.db");
        assert!(
            one.starts_with("/home/a/.local/state/colltune/night-"),
            "{one}"
        );
        assert_eq!(one, place("/shared/p/.colltune/night.db"));
        assert_ne!(one, place("/shared/q/.colltune/night.db"));
    }

    #[test]
    fn folders_of_other_users_are_not_used() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let own = folder.path().join("new/own");
        assert!(create_own_folder(&own));
        assert!(create_own_folder(&own), "once more");
        let mode = fs::metadata(&own).expect("there").mode();
        assert_eq!(mode & 0o777, 0o700);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&own, &link).expect("linked");
        assert!(!create_own_folder(&link));
    }
}
