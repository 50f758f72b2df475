//! Programs that never outlive a test.

use std::env;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

/// What became of a program that need not end well.
#[derive(Debug)]
pub struct Execution {
    /// How it has ended; absent if it had to be killed.
    pub status: Option<ExitStatus>,
    /// Whether it was asked to end, as it took too long.
    pub is_late: bool,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

/// Runs a command in a process group of its own, which ends with it.
///
/// # Panics
/// If it cannot be started, or takes longer than `patience`. Then the group is asked to end, so that
/// a launcher ends its ranks, which are in groups of their own, and is killed 3 s later.
#[track_caller]
pub fn run(command: &mut Command, patience: Duration) -> Ended {
    let Execution {
        status,
        is_late,
        out,
        err,
    } = attempt(command, patience);
    match status.filter(|_| !is_late) {
        Some(status) => Ended { status, out, err },
        None => panic!("{command:?} takes longer than {patience:?}: {out}{err}"),
    }
}

/// The same, whatever becomes of it.
///
/// # Panics
/// If it cannot be started.
#[track_caller]
pub fn attempt(command: &mut Command, patience: Duration) -> Execution {
    let folder = tempfile::tempdir().expect("a folder");
    let [out, err] = ["out", "err"].map(|name| folder.path().join(name));
    // Files: a process that inherits a pipe and lives on would be waited for.
    let create = |path: &Path| File::create(path).expect("a file");
    command
        .stdin(Stdio::null())
        .stdout(create(&out))
        .stderr(create(&err))
        .process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => panic!("{command:?} does not start: {error}"),
    };
    let (status, is_late) = wait(&mut child, patience);
    let read =
        |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    Execution {
        status,
        is_late,
        out: read(&out),
        err: read(&err),
    }
}

/// Waits for a child and ends its group: how it has ended, unless it had to be killed, and whether it was asked to.
fn wait(child: &mut Child, patience: Duration) -> (Option<ExitStatus>, bool) {
    let group = Pid::from_raw(child.id().cast_signed());
    let mut end = Instant::now() + patience;
    let mut is_late = false;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break Some(status);
        }
        if Instant::now() > end {
            if is_late {
                break None;
            }
            is_late = true;
            end = Instant::now() + Duration::from_secs(3);
            let _ = killpg(group, Signal::SIGTERM);
        }
        sleep(Duration::from_millis(5));
    };
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
    (status, is_late)
}

/// Where a program is: itself if it is a path, otherwise what `$PATH` has first.
pub fn find(program: impl AsRef<Path>) -> Option<PathBuf> {
    let program = program.as_ref();
    if program.components().count() > 1 {
        return program.exists().then(|| program.to_owned());
    }
    let path = env::var_os("PATH")?;
    let mut places = env::split_paths(&path).map(|folder| folder.join(program));
    places.find(|place| place.exists())
}

/// A file or folder in the cache that scripts of this repository fill.
pub fn cached(name: &str) -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let place = cache.or(home)?.join("colltune").join(name);
    place.exists().then_some(place)
}
