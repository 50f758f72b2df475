//! Whether a file is this user's own, so that nobody else can have written it.

use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::libc::ELOOP;
use nix::unistd::{Gid, Group, Uid, User};

use crate::write::MOST_LINKS;

/// The permissions of the group and of all others to write.
const OTHERS_WRITE: u32 = 0o022;
/// The permission of all others to write.
const ALL_WRITE: u32 = 0o002;

/// The reason why another user may have written a file. Displayed as a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOwn {
    /// The file belongs to another user.
    FileOfAnother,
    /// Other users may write to the file.
    WritableFile,
    /// Its folder belongs to another user.
    FolderOfAnother,
    /// Other users may write to its folder, and so replace the file or put others beside it.
    WritableFolder,
    /// A symbolic link on the way to the file belongs to another user, who may choose among this user's files.
    LinkOfAnother,
}

impl fmt::Display for NotOwn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FileOfAnother => "it belongs to another user",
            Self::WritableFile => "other users may write to it",
            Self::FolderOfAnother => "its folder belongs to another user",
            Self::WritableFolder => "other users may write to its folder",
            Self::LinkOfAnother => "a link of another user leads to it",
        })
    }
}

/// Why a file or folder is not this user's own; `None` if it is. It is if it and its folder, after links are resolved, belong to
/// the user of this process and only this user may write to them, and if the links belong to this user or to root. A
/// folder may also be writable for a group that has the user's name and no other member, as some systems give each user.
///
/// # Errors
/// A file that does not exist, or whose properties cannot be read.
pub fn not_own(path: &Path) -> io::Result<Option<NotOwn>> {
    let own = Uid::effective().as_raw();
    if has_link_of_another(path, own)? {
        return Ok(Some(NotOwn::LinkOfAnother));
    }
    let path = fs::canonicalize(path)?;
    let file = fs::metadata(&path)?;
    if file.uid() != own {
        return Ok(Some(NotOwn::FileOfAnother));
    }
    let is_closed = if file.is_dir() {
        is_private(&file)
    } else {
        file.mode() & OTHERS_WRITE == 0
    };
    if !is_closed {
        return Ok(Some(NotOwn::WritableFile));
    }
    let Some(folder) = path.parent() else {
        return Ok(None);
    };
    let folder = fs::metadata(folder)?;
    if folder.uid() != own {
        return Ok(Some(NotOwn::FolderOfAnother));
    }
    Ok((!is_private(&folder)).then_some(NotOwn::WritableFolder))
}

/// Whether only this user may write to a folder, or a group that has the user's name and no other member.
fn is_private(folder: &Metadata) -> bool {
    match folder.mode() & OTHERS_WRITE {
        0 => true,
        mode => mode & ALL_WRITE == 0 && is_group_of_one(Gid::from_raw(folder.gid())),
    }
}

/// Whether one of the symbolic links on the way to a file belongs neither to this user nor to root.
fn has_link_of_another(path: &Path, own: u32) -> io::Result<bool> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..=MOST_LINKS {
        let is_link = |above: &&Path| above.is_symlink();
        let Some(link) = path.ancestors().filter(is_link).last() else {
            return Ok(false);
        };
        let owner = fs::symlink_metadata(link)?.uid();
        if owner != own && owner != 0 {
            return Ok(true);
        }
        let rest = path.strip_prefix(link).unwrap_or(Path::new(""));
        let target = link.parent().unwrap_or(link).join(fs::read_link(link)?);
        path = if rest.as_os_str().is_empty() {
            target
        } else {
            target.join(rest)
        };
    }
    Err(io::Error::from_raw_os_error(ELOOP))
}

/// Whether a group has the name of this process's user and no other member.
fn is_group_of_one(group: Gid) -> bool {
    let user = User::from_uid(Uid::effective()).ok().flatten();
    let group = Group::from_gid(group).ok().flatten();
    let (Some(user), Some(group)) = (user, group) else {
        return false;
    };
    group.name == user.name && group.mem.iter().all(|member| *member == user.name)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn files_that_others_may_have_written_are_not_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "").expect("written");
        symlink(&file, &link).expect("linked");
        let check = |folder_mode, mode, expected| {
            fs::set_permissions(&file, Permissions::from_mode(mode)).expect("permitted");
            let of_folder = Permissions::from_mode(folder_mode);
            fs::set_permissions(folder.path(), of_folder).expect("permitted");
            for path in [&file, &link] {
                let found = not_own(path).expect("it exists");
                assert_eq!(found, expected, "{folder_mode:o} {mode:o} {path:?}");
            }
        };
        check(0o755, 0o644, None);
        check(0o700, 0o600, None);
        check(0o755, 0o666, Some(NotOwn::WritableFile));
        check(0o755, 0o664, Some(NotOwn::WritableFile));
        check(0o757, 0o644, Some(NotOwn::WritableFolder));
        check(0o1777, 0o644, Some(NotOwn::WritableFolder));
        if Uid::effective().is_root() {
            check(0o755, 0o644, None);
            let other = Some(Uid::from_raw(65534));
            let give_link = |owner| std::os::unix::fs::lchown(&link, Some(owner), None);
            give_link(65534).expect("given away");
            let own_link = folder.path().join("own");
            symlink("./link", &own_link).expect("linked");
            for path in [&link, &own_link] {
                let found = not_own(path).expect("it exists");
                assert_eq!(found, Some(NotOwn::LinkOfAnother), "{path:?}");
            }
            assert_eq!(not_own(&file).expect("it exists"), None);
            give_link(0).expect("taken back");
            nix::unistd::chown(folder.path(), other, None).expect("given away");
            check(0o755, 0o644, Some(NotOwn::FolderOfAnother));
            nix::unistd::chown(&file, other, None).expect("given away");
            check(0o755, 0o644, Some(NotOwn::FileOfAnother));
        }
        assert!(not_own(&folder.path().join("absent")).is_err());
    }
}
