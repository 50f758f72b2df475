//! Whether other accounts could redirect what is written to a folder.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use explained::Explained;
use nix::libc::ELOOP;
use nix::unistd::{Uid, User};
use thiserror::Error;

use crate::write::MOST_LINKS;

/// The mode bit that lets all users write, and the one that lets them change only their own entries.
const OPEN_TO_ALL: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// The reason why a folder is not written to.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum UntrustedFolder {
    /// The folder, or for root a folder or link on the way to it, belongs to another account.
    #[error("{} belongs to {owner}, who could redirect what is written there", path.display())]
    #[help(
        if Uid::effective().is_root(),
        "name a folder of root that lies in folders of root; or write there with the rights of {owner}: with \
         `--owner {owner}` if this verb has it, or as that user"
    )]
    #[help("name a folder of your own, or run the command as {owner}")]
    OfAnother {
        path: PathBuf,
        /// The name of the account, or its number if it has no name.
        owner: String,
    },
    /// All users may put links into it.
    #[error("all users may write to {}, and could redirect what is written there", path.display())]
    #[help("name a folder that only its owner may write to, such as a new one in it")]
    OpenToAll { path: PathBuf },
    /// The folder, or one above it, cannot be examined.
    #[error("cannot examine {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Checks that no other account can make this process write outside a folder, which may be missing.
///
/// - An existing folder must belong to this account or to root, and not all users may write to it. Members of its group
///   may: who lets a group write, trusts it.
/// - For root, the same holds for every folder and symbolic link on the way, so that nobody else decides where the path
///   leads; a folder that all users may write to must be sticky, like `/tmp`. Other accounts use folders that
///   colleagues own, and can lose only what is theirs.
///
/// # Errors
///
/// [`UntrustedFolder`].
pub fn check_folder(path: &Path) -> Result<(), UntrustedFolder> {
    let file = |source| UntrustedFolder::File {
        path: path.to_owned(),
        source,
    };
    let path = std::path::absolute(path).map_err(file)?;
    let found = if Uid::effective().is_root() {
        follow_path(&path)?
    } else {
        fs::metadata(&path).ok().map(|found| (path, found))
    };
    match found {
        Some((place, found)) if found.is_dir() => check_entry(&place, &found, false),
        _ => Ok(()),
    }
}

/// Follows a path as the kernel does, and checks all on the way. Returns where it ends; `None` if that is missing.
fn follow_path(path: &Path) -> Result<Option<(PathBuf, Metadata)>, UntrustedFolder> {
    let mut links = 0;
    let mut place = PathBuf::from("/");
    let mut steps: VecDeque<OsString> = steps_of(path).collect();
    let at = |entry: &Path, source| UntrustedFolder::File {
        path: entry.to_owned(),
        source,
    };
    loop {
        let metadata = fs::symlink_metadata(&place).map_err(|source| at(&place, source))?;
        let Some(step) = steps.pop_front() else {
            return Ok(Some((place, metadata)));
        };
        check_entry(&place, &metadata, true)?;
        if step == ".." {
            place.pop();
            continue;
        }
        let next = place.join(step);
        let found = match fs::symlink_metadata(&next) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            found => found.map_err(|source| at(&next, source))?,
        };
        if found.is_symlink() {
            check_owner(&next, &found, true)?;
            links += 1;
            if links > MOST_LINKS {
                return Err(at(path, Error::from_raw_os_error(ELOOP)));
            }
            let target = fs::read_link(&next).map_err(|source| at(&next, source))?;
            if target.is_absolute() {
                place = PathBuf::from("/");
            }
            for target_step in steps_of(&target).collect::<Vec<_>>().into_iter().rev() {
                steps.push_front(target_step);
            }
        } else if found.is_dir() {
            place = next;
        } else {
            // A file is not a folder, which creating or opening it reports.
            return Ok(None);
        }
    }
}

/// The names in a path, and `..`.
fn steps_of(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

/// Checks a folder. Where a path only leads through it, it may be sticky.
fn check_entry(path: &Path, found: &Metadata, is_above: bool) -> Result<(), UntrustedFolder> {
    check_owner(path, found, is_above)?;
    let is_open = found.mode() & OPEN_TO_ALL != 0;
    let is_sticky = found.mode() & STICKY != 0;
    if is_open && !(is_above && is_sticky) {
        Err(UntrustedFolder::OpenToAll {
            path: path.to_owned(),
        })
    } else {
        Ok(())
    }
}

/// Checks that something belongs to this account or to root.
fn check_owner(path: &Path, found: &Metadata, is_above: bool) -> Result<(), UntrustedFolder> {
    let owner = Uid::from_raw(found.uid());
    if owner.is_root() || owner == Uid::effective() || is_above && is_outside(owner) {
        return Ok(());
    }
    let account = User::from_uid(owner).ok().flatten();
    Err(UntrustedFolder::OfAnother {
        path: path.to_owned(),
        owner: account.map_or_else(|| owner.to_string(), |account| account.name),
    })
}

/// Whether an account has no number in this user namespace, as the host's root in a container of another user. The root
/// of such a namespace has no rights outside, so what lies above its folders can mislead it as little as any user.
fn is_outside(owner: Uid) -> bool {
    let read = |path| crate::read_text(Path::new(path)).unwrap_or_default();
    let overflow = read("/proc/sys/kernel/overflowuid");
    let map = read("/proc/self/uid_map");
    is_unmapped(owner, &overflow, &map)
}

/// Whether an account's number is the one that the kernel shows for all accounts without a number in a user namespace,
/// and the namespace leaves accounts out. The texts are those of `overflowuid` and `uid_map` (`user_namespaces(7)`).
fn is_unmapped(owner: Uid, overflow: &str, map: &str) -> bool {
    let is_overflow = overflow.trim().parse() == Ok(owner.as_raw());
    let map: Vec<&str> = map.split_whitespace().collect();
    let has_all_accounts = matches!(map[..], [] | ["0", "0", "4294967295"]);
    is_overflow && !has_all_accounts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_namespace_that_leaves_accounts_out_has_unmapped_ones() {
        let nobody = Uid::from_raw(65534);
        let own = "0 65534 1\n";
        let subordinate = "0 1000 1\n1 100000 65536\n";
        let initial = "0 0 4294967295\n";
        for map in [own, subordinate] {
            assert!(is_unmapped(nobody, "65534\n", map), "{map}");
            assert!(!is_unmapped(Uid::from_raw(1000), "65534\n", map), "{map}");
            assert!(!is_unmapped(nobody, "", map), "{map}");
        }
        // There, and where the kernel tells nothing, the number is that of the account `nobody`.
        assert!(!is_unmapped(nobody, "65534\n", initial));
        assert!(!is_unmapped(nobody, "65534\n", ""));
    }
}
