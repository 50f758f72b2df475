//! The content of a folder.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

/// Larger files are compared by their lengths and times.
const READ: u64 = 64 << 20;

/// Every file below a folder, by its path in it, with a description that changes with the file.
pub(crate) type Snapshot = BTreeMap<PathBuf, String>;

/// Looks at a folder without following links.
pub(crate) fn snapshot(folder: &Path) -> io::Result<Snapshot> {
    let mut found = Snapshot::new();
    walk(folder, &mut |path| {
        let place = path.strip_prefix(folder).unwrap_or(path).to_owned();
        found.insert(place, identity(path)?);
        Ok(())
    })?;
    Ok(found)
}

fn identity(path: &Path) -> io::Result<String> {
    let meta = fs::symlink_metadata(path)?;
    let kind = meta.file_type();
    Ok(if kind.is_dir() {
        "a folder".to_owned()
    } else if kind.is_symlink() {
        format!("a link to {}", fs::read_link(path)?.display())
    } else if kind.is_fifo() || kind.is_char_device() {
        "no regular file".to_owned()
    } else if meta.len() > READ {
        format!("{} bytes of {}", meta.len(), meta.mtime())
    } else {
        let mut hasher = DefaultHasher::new();
        fs::read(path)?.hash(&mut hasher);
        format!("{} bytes {:x}", meta.len(), hasher.finish())
    })
}

/// Copies a folder; links stay links.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    walk(from, &mut |path| {
        let place = to.join(path.strip_prefix(from).unwrap_or(path));
        let kind = fs::symlink_metadata(path)?.file_type();
        if kind.is_dir() {
            fs::create_dir(&place)
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(path)?, &place)
        } else if fs::metadata(path)?.len() > READ {
            let length = fs::metadata(path)?.len();
            fs::File::create(&place)?.set_len(length)
        } else if kind.is_file() {
            fs::copy(path, &place).map(drop)
        } else {
            // The list of damages names everything that is not a file.
            Ok(())
        }
    })
}

/// Makes a user the owner of a folder and of everything in it.
pub(crate) fn give(folder: &Path, owner: u32) -> io::Result<()> {
    let give = |path: &Path| lchown(path, Some(owner), Some(owner));
    give(folder)?;
    walk(folder, &mut |path| give(path))
}

/// Withdraws all write permissions, or gives the owner's back.
pub(crate) fn set_writable(folder: &Path, writable: bool) -> io::Result<()> {
    let set = |path: &Path| {
        let meta = fs::symlink_metadata(path)?;
        if meta.is_symlink() {
            return Ok(());
        }
        let mode = meta.permissions().mode();
        let mode = if writable {
            mode | 0o200
        } else {
            mode & !0o222
        };
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    };
    set(folder)?;
    walk(folder, &mut |path| set(path))
}

/// Visits everything below a folder, folders before what is in them. Skips files that disappear meanwhile, for example
/// because a process was killed late.
fn walk(folder: &Path, visit: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match visit(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            visited => visited?,
        }
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
            walk(&path, visit)?;
        }
    }
    Ok(())
}
