//! Child processes that never outlive a test.

use std::env;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The result of a program.
#[derive(Debug)]
pub struct ProgramResult {
    /// The exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// The result of a program that may fail to end.
#[derive(Debug)]
pub struct Execution {
    /// The exit status; absent if it was killed.
    pub status: Option<ExitStatus>,
    /// Whether it took too long and got SIGTERM.
    pub is_late: bool,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// Runs a command in its own process group, which is killed when the command ends.
///
/// # Panics
/// If it cannot be started, or takes longer than `patience`. In the latter case the group gets SIGTERM, so that a
/// launcher ends its ranks, which are in other groups, and SIGKILL 3 s later.
#[track_caller]
pub fn run_to_end(command: &mut Command, patience: Duration) -> ProgramResult {
    let Execution {
        status,
        is_late,
        out,
        err,
    } = run_or_kill(command, patience);
    match status.filter(|_| !is_late) {
        Some(status) => ProgramResult { status, out, err },
        None => panic!("{command:?} takes longer than {patience:?}: {out}{err}"),
    }
}

/// Runs a command like [`run_to_end`], but the command may take too long.
///
/// # Panics
/// If it cannot be started.
#[track_caller]
pub fn run_or_kill(command: &mut Command, patience: Duration) -> Execution {
    let folder = tempfile::tempdir().expect("a folder");
    let [out, err] = ["out", "err"].map(|name| folder.path().join(name));
    // Files, because a surviving process that inherits a pipe would block the reader.
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
    let (status, is_late) = wait_or_kill(&mut child, patience);
    let read =
        |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    Execution {
        status,
        is_late,
        out: read(&out),
        err: read(&err),
    }
}

/// Waits for a child and kills its group. Returns the exit status, unless it was killed, and whether it got SIGTERM.
fn wait_or_kill(child: &mut Child, patience: Duration) -> (Option<ExitStatus>, bool) {
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

/// The number of a user and of a group that own nothing.
pub const NOBODY: u32 = 65_534;

/// A command that runs a program as a user of this host who owns nothing and is in no group but this one; `None`, and
/// the test is to be skipped, if that needs rights that are not there.
#[track_caller]
pub fn as_another_user(group: u32, words: &[&str]) -> Option<Command> {
    let user = format!("--reuid={NOBODY}");
    let group = format!("--regid={group}");
    let as_user = |program_words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args([&*user, &group, "--clear-groups", "--"]);
        command.args(program_words);
        command
    };
    let works = find_program("setpriv").is_some_and(|_| {
        let tried = as_user(&["true"]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    });
    crate::require("namespaces and other users", works.then_some(()))?;
    Some(as_user(words))
}

/// A command that runs one of the ignored tests of this test's binary under another umask.
///
/// # Panics
/// If the binary is unknown.
pub fn under_umask(umask: &str, test: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask \"$1\"; shift; exec \"$@\"", "sh", umask])
        .arg(env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", test]);
    command
}

/// The path of a program: the argument if it is a path, otherwise the first match in `$PATH`.
pub fn find_program(program: impl AsRef<Path>) -> Option<PathBuf> {
    let program = program.as_ref();
    if program.components().count() > 1 {
        return program.exists().then(|| program.to_owned());
    }
    let path = env::var_os("PATH")?;
    let mut places = env::split_paths(&path).map(|folder| folder.join(program));
    places.find(|place| place.exists())
}

/// A file or folder in the cache of this repository's scripts.
pub fn find_cached(name: &str) -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let place = cache.or(home)?.join("colltune").join(name);
    place.exists().then_some(place)
}
