//! The modes of the state: users of jobs go to the channels, and to nothing else.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::Uid;

use crate::ServiceError;
use crate::service::DATABASE;

/// The mode of a state folder: others reach what they know the name of, and may read only the channels.
pub(crate) const STATE_MODE: u32 = 0o711;
/// The mode of folders in it that are the service's own.
pub(crate) const OWN_MODE: u32 = 0o700;

/// Sets the modes of what is there. The service's own entries come first: until now others may not have reached them.
pub(crate) fn set_modes(state: &Path) -> Result<(), ServiceError> {
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    for name in ["blobs", "tasks"] {
        let path = state.join(name);
        if is_there(&path) {
            ignore_missing(&path, set_mode_of(&path, OWN_MODE))?;
        }
    }
    // Whoever can read a database can also lock it.
    for end in ["", "-wal", "-shm"] {
        let path = state.join(format!("{DATABASE}{end}"));
        let opened = files::open_in_place(File::options().read(true), &path);
        ignore_missing(&path, opened.and_then(|file| files::set_mode(&file, 0o600)))?;
    }
    ignore_missing(state, set_mode_of(state, STATE_MODE))
}

/// The result of setting a mode; a missing file is no error.
fn ignore_missing(path: &Path, result: io::Result<()>) -> Result<(), ServiceError> {
    match result {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(ServiceError::on_file("set the mode of", path)(error))
        }
        _ => Ok(()),
    }
}

/// Sets the mode of a folder. It may be a link, to another disk for instance: the folders with such links are those of
/// the service's account or of root ([`files::check_folder`]).
pub(crate) fn set_mode_of(folder: &Path, mode: u32) -> io::Result<()> {
    files::set_folder_mode(&fs::canonicalize(folder)?, mode)
}

/// Lets all users go through the project folder, and what is between it and the state, if that opens nothing else: the
/// folder is the service's own, and all other entries of it are closed to those users. This is so for folders that were
/// made under the umask of a service.
pub(crate) fn open_way(folder: &Path, state: &Path) -> Result<(), ServiceError> {
    let mut next = state;
    for above in state.ancestors().skip(1) {
        if !above.starts_with(folder) {
            break;
        }
        let found = fs::metadata(above).map_err(ServiceError::on_file("examine", above))?;
        let missing = THROUGH & !found.mode();
        let is_ours = found.uid() == Uid::effective().as_raw();
        if missing != 0 && is_ours && is_closed(above, next, missing) {
            let opened = set_mode_of(above, found.mode() & 0o7777 | missing);
            opened.map_err(ServiceError::on_file("set the mode of", above))?;
        }
        next = above;
    }
    Ok(())
}

/// The mode bits that let other users go through a folder.
const THROUGH: u32 = 0o011;

/// Whether the classes of users that could newly go through a folder may use nothing in it but `way`.
fn is_closed(folder: &Path, way: &Path, classes: u32) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries.into_iter().all(|entry| {
        let Ok(entry) = entry else { return false };
        let is_closed = |found: fs::Metadata| found.mode() & (classes * 7) == 0;
        entry.path() == way
            || entry
                .metadata()
                .is_ok_and(|found| found.is_symlink() || is_closed(found))
    })
}
