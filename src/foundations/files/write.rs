//! Atomic writing: a file is replaced as a whole or stays as it was.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Error, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Component, Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc::{ELOOP, ENXIO, O_NOCTTY, O_NONBLOCK};
use nix::unistd::{AccessFlags, access};
use tempfile::NamedTempFile;

/// The time to wait for a FIFO's reader.
const READER_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause between attempts to open a FIFO.
const PAUSE: Duration = Duration::from_millis(20);
/// The number of links that Linux follows.
pub(crate) const MOST_LINKS: u32 = 40;

/// Writes a file, and creates its folder if it is missing.
///
/// A regular file, new or old, is written to a temporary file in the same folder, which is then renamed; symbolic links
/// are followed first. The new file keeps the permissions of the old one and, as far as this process may change them,
/// its owner and group. If the group cannot be kept, the new group gets only the rights of all users. Anything else,
/// such as `/dev/stdout` or a FIFO, is appended to in place. Opening a FIFO without a reader is retried for five
/// seconds; writing to one with a reader blocks until all is written.
///
/// # Errors
///
/// Those of the system; [`ErrorKind::IsADirectory`] for a folder, [`ErrorKind::TimedOut`] for a FIFO without a reader.
/// A regular file is then unchanged, unless only the last step failed, the sync of the folder after the renaming.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    write_by(path, |output| output.write_all(content))
}

/// Like [`write()`], but does not wait until the content is on the disk, which takes long. If this process is killed, the
/// file is as whole as after [`write()`]; only after a failure of the machine it may be empty.
///
/// # Errors
///
/// Those of [`write()`].
pub fn write_without_sync(path: &Path, content: &[u8]) -> io::Result<()> {
    write_to(path, Durability::Process, |output| {
        output.write_all(content)
    })
}

/// Like [`write()`], for content that `produce` writes piece by piece, so that it need not be in memory as a whole.
///
/// # Errors
///
/// Those of [`write()`] and of `produce`, after which a regular file is unchanged.
pub fn write_by<T, E: From<Error>>(
    path: &Path,
    produce: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    write_to(path, Durability::Machine, produce)
}

/// What a written file survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// The end of this process.
    Process,
    /// Also a failure of the machine.
    Machine,
}

fn write_to<T, E: From<Error>>(
    path: &Path,
    durability: Durability,
    produce: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    match Target::of_path(path)? {
        Target::Special(name) => write_in_place(&name, produce),
        Target::File { name, before } => replace_file(&name, before.as_ref(), durability, produce),
    }
}

/// Checks that [`write()`] could write a file, and creates the file's folder if it is missing.
///
/// # Errors
///
/// Those that [`write()`] would return, except that a FIFO is not checked for a reader.
pub fn check_writable(path: &Path) -> io::Result<()> {
    match Target::of_path(path)? {
        // Opening and closing a FIFO would signal the end of the data to its reader.
        Target::Special(name) => Ok(access(&name, AccessFlags::W_OK)?),
        Target::File { name, .. } => {
            let folder = created_folder(&name)?;
            let file = tempfile::tempfile_in(folder);
            file.map(drop)
                .map_err(|error| creation_error(folder, &error))
        }
    }
}

/// Whether an error was caused by a full disk or an exceeded quota.
#[must_use]
pub fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let kind = error.downcast_ref::<Error>().map(Error::kind);
    matches!(
        kind,
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
    ) || error.source().is_some_and(is_disk_full)
}

/// Whether [`write()`] would write in place: to a device, a FIFO, a socket, or, as with `/dev/stdout`, to a file that a
/// process has open.
#[must_use]
pub fn is_special(path: &Path) -> bool {
    matches!(Target::of_path(path), Ok(Target::Special(_)))
}

/// Whether two names are names of the same file, directly or by links. Files that do not exist yet are compared by
/// their resolved names.
#[must_use]
pub fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    match (identity(one), identity(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => resolve_name(one) == resolve_name(other),
        _ => false,
    }
}

/// The file that a name leads to.
enum Target {
    /// A regular file, which may not exist yet.
    File {
        /// Its name after all links have been followed.
        name: PathBuf,
        /// The properties of the existing file.
        before: Option<Metadata>,
    },
    /// Neither a regular file nor a folder; the name can be opened.
    Special(PathBuf),
}

impl Target {
    fn of_path(path: &Path) -> io::Result<Self> {
        let mut name = path.to_owned();
        for _ in 0..=MOST_LINKS {
            match fs::read_link(&name) {
                // The link leads to an open file, which may have been renamed or removed.
                Ok(_) if is_in_proc(&name) => return Ok(Self::Special(name)),
                Ok(next) => name = folder_of(&name).join(next),
                Err(_) => return Self::of_plain_name(name),
            }
        }
        Err(Error::from_raw_os_error(ELOOP))
    }

    /// The target of a name that is not a link.
    fn of_plain_name(name: PathBuf) -> io::Result<Self> {
        let folder = |text: &str| Err(Error::new(ErrorKind::IsADirectory, text));
        match fs::metadata(&name) {
            Ok(found) if found.is_dir() => folder("it is a folder"),
            Ok(found) if !found.is_file() => Ok(Self::Special(name)),
            Ok(found) => Ok(Self::File {
                name,
                before: Some(found),
            }),
            // If there is a file in the place of the folder, creating the folder reports it.
            Err(error) if is_missing(&error) && names_a_file(&name) => {
                Ok(Self::File { name, before: None })
            }
            Err(error) if is_missing(&error) => folder("it is the name of a folder"),
            Err(error) => Err(error),
        }
    }
}

fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Whether a path ends in a file name, not in `/`, `.` or `..`.
fn names_a_file(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    path.file_name()
        .is_some_and(|last| bytes.ends_with(last.as_bytes()))
}

/// Creates a regular file or replaces an existing one.
fn replace_file<T, E: From<Error>>(
    name: &Path,
    before: Option<&Metadata>,
    durability: Durability,
    produce: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let folder = created_folder(name)?;
    let mut file = create_temporary(folder).map_err(|error| creation_error(folder, &error))?;
    let produced = produce(&mut file)?;
    if let Some(before) = before {
        keep_properties(file.as_file(), before)?;
    }
    if durability == Durability::Process {
        file.persist(name).map_err(|error| error.error)?;
        return Ok(produced);
    }
    file.as_file().sync_all()?;
    file.persist(name).map_err(|error| error.error)?;
    // Otherwise a power failure may undo the renaming; the file is whole either way. A folder may be writable without
    // being readable.
    if let Ok(folder) = File::open(folder) {
        folder.sync_all()?;
    }
    Ok(produced)
}

/// Gives a file the owner, group and permissions of the file that it replaces.
fn keep_properties(file: &File, before: &Metadata) -> io::Result<()> {
    let group = Some(before.gid());
    // Only root may change owners; other users may choose among their own groups.
    let kept = fchown(file, Some(before.uid()), group).or_else(|_| fchown(file, None, group));
    let mode = before.mode();
    // If the group is another one, it gets the rights of all users.
    let of_group = if kept.is_ok() {
        mode & 0o070
    } else {
        (mode & 0o007) << 3
    };
    file.set_permissions(Permissions::from_mode((mode & 0o707) | of_group))
}

fn write_in_place<T, E: From<Error>>(
    name: &Path,
    produce: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    match name.file_name() {
        // Opening the name again would give a second file position, and later output would overwrite this output.
        Some(number) if is_own(name) && number == "1" => {
            let mut out = io::stdout().lock();
            let produced = produce(&mut out)?;
            out.flush()?;
            Ok(produced)
        }
        Some(number) if is_own(name) && number == "2" => produce(&mut io::stderr().lock()),
        _ => produce(&mut open_in_place(name)?),
    }
}

fn open_in_place(name: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Nonblocking, since a blocking open would wait for a FIFO's reader without limit.
    options.append(true).custom_flags(O_NONBLOCK | O_NOCTTY);
    let is_fifo = || fs::metadata(name).is_ok_and(|found| found.file_type().is_fifo());
    let since = Instant::now();
    let file = loop {
        match options.open(name) {
            Err(error) if error.raw_os_error() == Some(ENXIO) && is_fifo() => {
                if since.elapsed() >= READER_TIMEOUT {
                    let text = "it is a FIFO without a reader: start its reader first";
                    return Err(Error::new(ErrorKind::TimedOut, text));
                }
                sleep(PAUSE);
            }
            opened => break opened?,
        }
    };
    let flags = OFlag::from_bits_retain(fcntl(file.as_fd(), FcntlArg::F_GETFL)?);
    fcntl(file.as_fd(), FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
    Ok(file)
}

/// Whether a link is in `/proc`, and thus leads to an open file of a process.
fn is_in_proc(link: &Path) -> bool {
    fs::canonicalize(folder_of(link)).is_ok_and(|folder| folder.starts_with("/proc"))
}

/// Whether a name is that of an open file of this process.
fn is_own(name: &Path) -> bool {
    let own = PathBuf::from(format!("/proc/{}/fd", std::process::id()));
    fs::canonicalize(folder_of(name)).is_ok_and(|folder| folder == own)
}

/// The absolute name without links, `.` and `..`, as far as its folders exist.
fn resolve_name(path: &Path) -> PathBuf {
    let name = match Target::of_path(path) {
        Ok(Target::File { name, .. }) => name,
        _ => path.to_owned(),
    };
    let mut whole = PathBuf::new();
    for step in std::path::absolute(&name).unwrap_or(name).components() {
        match step {
            Component::ParentDir => {
                whole.pop();
            }
            other => whole.push(other),
        }
        whole = fs::canonicalize(&whole).unwrap_or(whole);
    }
    whole
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// The folder of a file, which is created if it is missing.
fn created_folder(name: &Path) -> io::Result<&Path> {
    let folder = folder_of(name);
    match fs::create_dir_all(folder) {
        Ok(()) => Ok(folder),
        Err(error) => Err(creation_error(folder, &error)),
    }
}

fn creation_error(folder: &Path, error: &Error) -> Error {
    let text = format!("no file can be created in {}: {error}", folder.display());
    Error::new(error.kind(), text)
}

/// A file that is removed unless it is renamed, with the permissions that the process's umask allows.
fn create_temporary(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".colltune-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
}
