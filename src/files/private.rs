//! Whether a file is this user's own, so that nobody else can have written it.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Gid, Group, Uid, User};

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
}

impl fmt::Display for NotOwn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FileOfAnother => "it belongs to another user",
            Self::WritableFile => "other users may write to it",
            Self::FolderOfAnother => "its folder belongs to another user",
            Self::WritableFolder => "other users may write to its folder",
        })
    }
}

/// Why a file is not this user's own; `None` if it is. It is if it and its folder, after links are resolved, belong to
/// the user of this process and only this user may write to them. A folder may also be writable for a group that has
/// the user's name and no other member, as some systems give each user.
///
/// # Errors
/// A file that does not exist, or whose properties cannot be read.
pub fn not_own(path: &Path) -> io::Result<Option<NotOwn>> {
    let path = fs::canonicalize(path)?;
    let own = Uid::effective().as_raw();
    let file = fs::metadata(&path)?;
    if file.uid() != own {
        return Ok(Some(NotOwn::FileOfAnother));
    }
    if file.mode() & OTHERS_WRITE != 0 {
        return Ok(Some(NotOwn::WritableFile));
    }
    let Some(folder) = path.parent() else {
        return Ok(None);
    };
    let folder = fs::metadata(folder)?;
    if folder.uid() != own {
        return Ok(Some(NotOwn::FolderOfAnother));
    }
    let is_private = match folder.mode() & OTHERS_WRITE {
        0 => true,
        mode => mode & ALL_WRITE == 0 && is_group_of_one(Gid::from_raw(folder.gid())),
    };
    Ok((!is_private).then_some(NotOwn::WritableFolder))
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
            let other = Some(Uid::from_raw(65534));
            nix::unistd::chown(folder.path(), other, None).expect("given away");
            check(0o755, 0o644, Some(NotOwn::FolderOfAnother));
            nix::unistd::chown(&file, other, None).expect("given away");
            check(0o755, 0o644, Some(NotOwn::FileOfAnother));
        }
        assert!(not_own(&folder.path().join("absent")).is_err());
    }
}
