//! Writing whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Error, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Writes a file, and creates its folder if it is missing.
///
/// What is new or a regular file is replaced, whole or not at all, by a temporary file in the same folder that takes its
/// name; a symbolic link is followed first. Anything else, such as `/dev/stdout` or a FIFO, is written to in place.
///
/// # Errors
///
/// Those of the system. A regular file is then as it was, unless only the last step failed, which puts the file's
/// new name to disk.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = target(path)?;
    if is_special(&target)? {
        let mut file = OpenOptions::new().write(true).open(&target)?;
        return file.write_all(content);
    }
    let folder = folder_of(&target);
    fs::create_dir_all(folder)?;
    let mut file = temporary(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    // Without this the new name may be lost in a power failure; the file is good either way.
    File::open(folder)?.sync_all()
}

/// Finds out whether [`write`] could write a file, and leaves nothing behind but its folder.
///
/// # Errors
///
/// Those that [`write`] would return, as far as that can be told.
pub fn probe(path: &Path) -> io::Result<()> {
    let target = target(path)?;
    if is_special(&target)? {
        return Ok(());
    }
    let folder = folder_of(&target);
    fs::create_dir_all(folder)?;
    temporary(folder).map(drop)
}

/// Whether two names stand for the same file, by links or otherwise; files that do not exist are compared by name.
#[must_use]
pub fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    match (identity(one), identity(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => match (target(one), target(other)) {
            (Ok(one), Ok(other)) => {
                std::path::absolute(one).ok() == std::path::absolute(other).ok()
            }
            _ => false,
        },
        _ => false,
    }
}

/// What a name stands for after links, whose last one may lead to a file that does not exist yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // As many as Linux follows.
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(next) => path = folder_of(&path).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(Error::other("too many symbolic links"))
}

/// Whether something is there that is not a regular file; a folder is refused.
fn is_special(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(Error::new(ErrorKind::IsADirectory, "it is a folder")),
        Ok(found) => Ok(!found.is_file()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A file that goes away unless it takes another name, readable by everybody as far as the process's mask lets.
fn temporary(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".colltune-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
}
