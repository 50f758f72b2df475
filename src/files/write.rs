//! Writing whole or not at all.

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

/// How long a FIFO waits for its reader.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);
/// The number of links that Linux follows.
const MOST_LINKS: u32 = 40;

/// Writes a file, and creates its folder if it is missing.
///
/// What is new or a regular file is replaced, whole or not at all, by a temporary file in the same folder that takes its
/// name; a symbolic link is followed first. The new file has the permissions of the one that it replaces and, as far as
/// this process may give files away, its owner and group; another group gets the rights of all users. Anything else,
/// such as `/dev/stdout` or a FIFO, is written to in place, behind what is there. A FIFO without a reader is tried for
/// five seconds; once its reader is there, writing waits for it.
///
/// # Errors
///
/// Those of the system; [`ErrorKind::IsADirectory`] for a folder, [`ErrorKind::TimedOut`] for a FIFO without a reader. A
/// regular file is then as it was, unless only the last step failed, which puts the file's new name to disk.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    match Target::of(path)? {
        Target::Special(name) => write_in_place(&name, content),
        Target::File { name, before } => replace(&name, before.as_ref(), content),
    }
}

/// Finds out whether [`write`] could write a file, and leaves nothing behind but its folder.
///
/// # Errors
///
/// Those that [`write`] would return, as far as that can be told: not whether a FIFO has a reader.
pub fn probe(path: &Path) -> io::Result<()> {
    match Target::of(path)? {
        // A FIFO that is opened and closed again tells its reader that all is written.
        Target::Special(name) => Ok(access(&name, AccessFlags::W_OK)?),
        Target::File { name, .. } => {
            let folder = created_folder(&name)?;
            let file = tempfile::tempfile_in(folder);
            file.map(drop).map_err(|error| refused(folder, &error))
        }
    }
}

/// Whether [`write`] would write to what stands under this name in place: a device, a FIFO, a socket, or a file that a
/// process has open, as `/dev/stdout` names one.
#[must_use]
pub fn is_special(path: &Path) -> bool {
    matches!(Target::of(path), Ok(Target::Special(_)))
}

/// Whether two names stand for the same file, by hard or symbolic links or otherwise. Files that do not exist are
/// compared by what their names will stand for.
#[must_use]
pub fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    match (identity(one), identity(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => whole(one) == whole(other),
        _ => false,
    }
}

/// What a name stands for.
enum Target {
    /// A regular file, or nothing yet.
    File {
        /// Its own name, behind all links.
        name: PathBuf,
        /// What is there.
        before: Option<Metadata>,
    },
    /// What is neither a regular file nor a folder, by a name that can be opened.
    Special(PathBuf),
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        let mut name = path.to_owned();
        for _ in 0..=MOST_LINKS {
            match fs::read_link(&name) {
                // It leads to an open file, which may have another name by now, or none.
                Ok(_) if is_in_proc(&name) => return Ok(Self::Special(name)),
                Ok(next) => name = folder_of(&name).join(next),
                Err(_) => return Self::named(name),
            }
        }
        Err(Error::from_raw_os_error(ELOOP))
    }

    /// What is there under a name that is no link.
    fn named(name: PathBuf) -> io::Result<Self> {
        let folder = |text: &str| Err(Error::new(ErrorKind::IsADirectory, text));
        match fs::metadata(&name) {
            Ok(found) if found.is_dir() => folder("it is a folder"),
            Ok(found) if !found.is_file() => Ok(Self::Special(name)),
            Ok(found) => Ok(Self::File {
                name,
                before: Some(found),
            }),
            // What stands in the place of its folder is told when that is created.
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

/// Whether a path ends in a name, and not in `/` or the like.
fn names_a_file(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    path.file_name()
        .is_some_and(|last| bytes.ends_with(last.as_bytes()))
}

/// Puts a new file in the place of a regular one, or of nothing.
fn replace(name: &Path, before: Option<&Metadata>, content: &[u8]) -> io::Result<()> {
    let folder = created_folder(name)?;
    let mut file = temporary(folder).map_err(|error| refused(folder, &error))?;
    file.write_all(content)?;
    if let Some(before) = before {
        keep(file.as_file(), before)?;
    }
    file.as_file().sync_all()?;
    file.persist(name).map_err(|error| error.error)?;
    // Without this the new name may be lost in a power failure; the file is good either way. Folders that others own
    // may let us write, and not read.
    match File::open(folder) {
        Ok(folder) => folder.sync_all(),
        Err(_) => Ok(()),
    }
}

/// Gives a file the owner and the permissions of the one that it is to replace.
fn keep(file: &File, before: &Metadata) -> io::Result<()> {
    let group = Some(before.gid());
    // Only root may give files away, and others give them to groups of their own alone.
    let kept = fchown(file, Some(before.uid()), group).or_else(|_| fchown(file, None, group));
    let mode = before.mode();
    // Another group has no more rights than everybody.
    let of_group = if kept.is_ok() {
        mode & 0o070
    } else {
        (mode & 0o007) << 3
    };
    file.set_permissions(Permissions::from_mode((mode & 0o707) | of_group))
}

fn write_in_place(name: &Path, content: &[u8]) -> io::Result<()> {
    match name.file_name() {
        // The name of an open file would open it once more, and what follows here would overwrite it.
        Some(number) if is_own(name) && number == "1" => {
            let mut out = io::stdout().lock();
            out.write_all(content)?;
            out.flush()
        }
        Some(number) if is_own(name) && number == "2" => io::stderr().lock().write_all(content),
        _ => open_in_place(name)?.write_all(content),
    }
}

fn open_in_place(name: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Without waiting: nothing would end the wait for the reader of a FIFO.
    options.append(true).custom_flags(O_NONBLOCK | O_NOCTTY);
    let is_fifo = || fs::metadata(name).is_ok_and(|found| found.file_type().is_fifo());
    let since = Instant::now();
    let file = loop {
        match options.open(name) {
            Err(error) if error.raw_os_error() == Some(ENXIO) && is_fifo() => {
                if since.elapsed() >= PATIENCE {
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

/// Whether a link leads to what a process has open.
fn is_in_proc(link: &Path) -> bool {
    fs::canonicalize(folder_of(link)).is_ok_and(|folder| folder.starts_with("/proc"))
}

/// Whether a name is that of one of this process's open files.
fn is_own(name: &Path) -> bool {
    let own = PathBuf::from(format!("/proc/{}/fd", std::process::id()));
    fs::canonicalize(folder_of(name)).is_ok_and(|folder| folder == own)
}

/// A name without links, `.` and `..`, as far as what it leads through is there.
fn whole(path: &Path) -> PathBuf {
    let name = match Target::of(path) {
        Ok(Target::File { name, .. }) => name,
        _ => path.to_owned(),
    };
    let mut whole = PathBuf::new();
    for step in std::path::absolute(&name).unwrap_or(name).components() {
        match step {
            Component::ParentDir => {
                whole.pop();
            }
            step => whole.push(step),
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
        Err(error) => Err(refused(folder, &error)),
    }
}

fn refused(folder: &Path, error: &Error) -> Error {
    let text = format!("no file can be created in {}: {error}", folder.display());
    Error::new(error.kind(), text)
}

/// A file that goes away unless it takes another name, readable by everybody as far as the process's mask lets.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".colltune-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
}
