//! Folders that other accounts read, and files in them that only their owner opens.
//!
//! Modes are set explicitly: the umask of a service, a timer or a shell must not decide who reads a table.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::libc::{ELOOP, O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::Uid;

use crate::read::require_regular;

/// Creates a folder and those above it that are missing, all with this mode, whatever the umask is. Existing folders
/// keep theirs.
///
/// # Errors
///
/// Those of the system; [`ErrorKind::AlreadyExists`] if something else has the name.
pub fn create_folder(path: &Path, mode: u32) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let missing: Vec<&Path> = path.ancestors().take_while(|f| !f.exists()).collect();
    for folder in missing.into_iter().rev() {
        match DirBuilder::new().mode(mode).create(folder) {
            Ok(()) => set_folder_mode(folder, mode)?,
            // Another process created it first.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sets the mode of a folder, whose name must not be a symbolic link, unless it has this mode.
///
/// # Errors
///
/// Those of the system.
pub fn set_folder_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(O_DIRECTORY | O_NOFOLLOW);
    set_mode(&options.open(path).map_err(explain_link)?, mode)
}

/// Sets the mode of an open file or folder, unless it has this mode.
///
/// # Errors
///
/// Those of the system.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    if file.metadata()?.mode() & 0o7777 == mode {
        Ok(())
    } else {
        file.set_permissions(Permissions::from_mode(mode))
    }
}

/// Opens a regular file with these options, without ever blocking and without following a symbolic link of that name.
///
/// # Errors
///
/// Those of the system, [`ErrorKind::IsADirectory`] for a folder, and [`ErrorKind::InvalidInput`] for a link and for any
/// other file that is not regular.
pub fn open_in_place(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    let file = options.open(path).map_err(explain_link)?;
    require_regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens the file that processes lock to take turns, and creates it if it is missing.
///
/// Whoever may open a file for reading may lock it and keep the lock, so the file gets `mode`, 0600 unless several
/// accounts are meant to take turns; a file of another account keeps its mode. The file must not be removed: two
/// processes could then lock two files of the same name.
///
/// # Errors
///
/// Those of [`open_in_place`].
pub fn open_lock(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Network file systems grant exclusive locks only on files that are open for writing.
    options.read(true).write(true).create(true).mode(mode);
    let file = open_in_place(&mut options, path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied if path.exists() => Error::new(
            ErrorKind::PermissionDenied,
            "another account made it, and this one may not open it: remove it while no colltune uses the folder",
        ),
        _ => error,
    })?;
    if file.metadata()?.uid() == Uid::effective().as_raw() {
        set_mode(&file, mode)?;
    }
    Ok(file)
}

/// Opens a file that processes of this account lock, in the folder for temporary files, and creates it if it is missing.
/// Programs that take turns give it the same name.
///
/// # Errors
///
/// Those of [`open_lock`]; [`ErrorKind::PermissionDenied`] if another account has made it, and so can hold it.
pub fn open_temporary_lock(name: &str) -> io::Result<File> {
    let me = Uid::effective();
    let path = std::env::temp_dir().join(format!("colltune-{me}-{name}.lock"));
    let file = open_lock(&path, 0o600)?;
    if file.metadata()?.uid() == me.as_raw() {
        Ok(file)
    } else {
        Err(Error::new(
            ErrorKind::PermissionDenied,
            "another account has made it",
        ))
    }
}

/// Creates a new file that has this mode whatever the umask is.
///
/// # Errors
///
/// Those of the system; [`ErrorKind::AlreadyExists`].
pub fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    let file = File::options()
        .write(true)
        .create_new(true)
        .mode(mode & 0o700)
        .open(path)?;
    set_mode(&file, mode)?;
    Ok(file)
}

/// Says what the system calls a loop of links.
fn explain_link(error: Error) -> Error {
    match error.raw_os_error() {
        Some(ELOOP) => Error::new(
            ErrorKind::InvalidInput,
            "it is a symbolic link, which is not followed here",
        ),
        _ => error,
    }
}
