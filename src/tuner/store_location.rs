//! Where stores stand that must not stand where campaigns are.
//!
//! SQLite is not to be relied on where several hosts share a file system. A campaign that runs on a cluster is
//! usually there, and so are its launches' plans and spools, which nodes must see. Its store then goes to a disk
//! of the login node. It can be made again from the launches at any time, and is on every login node that needs
//! it.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use campaign::{Campaign, LauncherConfig};
use nix::unistd::Uid;
use sha2::{Digest, Sha256};
use store::network_file_system;

use crate::launch::absolute;

/// Where a user's programs may keep what is theirs.
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
    fn folder(&self, is_shared: &dyn Fn(&Path) -> bool) -> PathBuf {
        let state = self.state.clone().filter(|path| path.is_absolute());
        let below_home = self.home.as_ref().map(|home| home.join(".local/state"));
        let own = state.or(below_home).filter(|path| !is_shared(path));
        own.map_or_else(
            || PathBuf::from(format!("/var/tmp/colltune-{}", Uid::effective())),
            |state| state.join("colltune"),
        )
    }
}

/// The file of the store that is called `named`: that path, or, if nothing is there, the one on this host's
/// own disk that stands for it, if it is there.
pub fn store_file(named: &Path, homes: &StateDirs) -> PathBuf {
    let elsewhere = || elsewhere(named, homes, &is_shared).filter(|path| path.exists());
    match named.exists() {
        true => named.to_owned(),
        false => elsewhere().unwrap_or_else(|| named.to_owned()),
    }
}

/// Where the store of a campaign goes if not where the campaign says: jobs are measured, no store
/// is named, none is there, and it would be on a file system that hosts share.
pub(crate) fn relocated(campaign: &Campaign, homes: &StateDirs) -> Option<PathBuf> {
    let named = &campaign.output.store;
    let is_default = *named == Path::new(".colltune").join(format!("{}.db", campaign.name));
    let may_move = matches!(campaign.launcher, LauncherConfig::Batch(_)) && is_default;
    if !may_move || named.exists() || !is_shared(named) {
        return None;
    }
    let path = elsewhere(named, homes, &is_shared)?;
    is_ours(path.parent()?).then_some(path)
}

fn is_shared(path: &Path) -> bool {
    network_file_system(path).is_some()
}

/// The path that stands for a store on this host's own disk.
fn elsewhere(
    named: &Path,
    homes: &StateDirs,
    is_shared: &dyn Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let whole = absolute(named).ok()?;
    let digest = Sha256::digest(whole.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
    let stem = named.file_stem()?.to_string_lossy().into_owned();
    Some(homes.folder(is_shared).join(format!("{stem}-{hex}.db")))
}

/// Makes a folder that no other user may use; false if another user has it. All users may write to `/var/tmp`.
fn is_ours(folder: &Path) -> bool {
    if let Some(above) = folder.parent()
        && fs::create_dir_all(above).is_err()
    {
        return false;
    }
    // The folder may be there already.
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
    fn a_folder_of_the_user_is_taken_that_hosts_do_not_share() {
        let of_user = format!("/var/tmp/colltune-{}", Uid::effective());
        let is_shared = |path: &Path| path.starts_with("/shared");
        for (state, home, expected) in [
            (None, "/home/a", "/home/a/.local/state/colltune"),
            (Some("/var/a"), "/home/a", "/var/a/colltune"),
            (Some("relative"), "/home/a", "/home/a/.local/state/colltune"),
            (None, "/shared/a", &of_user),
            (Some("/shared/state"), "/home/a", &of_user),
        ] {
            let folder = homes(state, home).folder(&is_shared);
            assert_eq!(folder, Path::new(expected), "{state:?} {home}");
        }
    }

    #[test]
    fn each_campaign_has_a_file_of_its_own() {
        let place = |named: &str| {
            let path = elsewhere(Path::new(named), &homes(None, "/home/a"), &|_| false);
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
    fn what_belongs_to_somebody_else_is_not_used() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let own = folder.path().join("new/own");
        assert!(is_ours(&own));
        assert!(is_ours(&own), "once more");
        let mode = fs::metadata(&own).expect("there").mode();
        assert_eq!(mode & 0o777, 0o700);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&own, &link).expect("linked");
        assert!(!is_ours(&link));
    }
}
