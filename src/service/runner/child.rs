//! A child process.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde_json::Value;

use super::lines::{keep_log, read_lines};
use crate::lower_priority;

/// How long the rest of a child's words may take once it and its group have ended: a process outside of the group may
/// hold on to the pipe.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is left of a child.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Its exit code; absent if a signal ended it.
    pub(super) code: Option<i32>,
    /// The signal that ended it.
    pub(super) signal: Option<i32>,
    /// Its outcome, if it told one.
    pub(super) outcome: Option<Value>,
    /// The last error in its log.
    pub(super) error: Option<String>,
}

/// What sends signals to a child while it is there, and to none that has its number later.
#[derive(Debug, Default)]
pub(super) struct ChildSignals(Mutex<Option<Pid>>);

impl ChildSignals {
    /// Whether a child is there.
    pub(super) fn holds(&self) -> bool {
        self.child().is_some()
    }

    /// Asks the child to end.
    pub(super) fn interrupt(&self) {
        if let Some(pid) = *self.child() {
            // It may have ended.
            let _ = kill(pid, Signal::SIGINT);
        }
    }

    /// Ends the child's group.
    pub(super) fn kill(&self) {
        if let Some(pid) = *self.child() {
            let _ = killpg(pid, Signal::SIGKILL);
        }
    }

    fn child(&self) -> MutexGuard<'_, Option<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a command to its end, in a group of its own that ends with it. Each line of its standard output is JSON and is
/// told to `hear`, but for the outcome; standard error goes to the log. Nothing here polls. The calling thread has a
/// lower priority afterwards.
///
/// # Errors
/// If it cannot be started or watched.
pub(super) fn run(
    mut command: Command,
    signals: &ChildSignals,
    log: &Path,
    mut hear: impl FnMut(Value) + Send + 'static,
) -> io::Result<Ended> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut held = signals.child();
    let mut child = command.spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    *held = Some(pid);
    drop(held);
    // The child has the priority that this thread had, and those that listen to it have this one.
    lower_priority();
    let (out, err, log) = (child.stdout.take(), child.stderr.take(), log.to_owned());
    let outcome = listener("output of a task", move || {
        let mut outcome = None;
        let out = out?;
        // A child that cannot be read any more ends by itself.
        let _ = read_lines(out, |line| {
            let Ok(mut event) = serde_json::from_slice::<Value>(line) else {
                return;
            };
            match event["event"].as_str() {
                Some("outcome") => outcome = Some(event["outcome"].take()),
                Some(_) => hear(event),
                None => {}
            }
        });
        outcome
    });
    let error = listener("log of a task", move || keep_log(err?, &log).ok().flatten());
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(pid), flags) == Err(Errno::EINTR) {}
    // Not reaped yet: its number, and that of its group, are still its own.
    let mut held = signals.child();
    let _ = killpg(pid, Signal::SIGKILL);
    *held = None;
    let status = child.wait()?;
    drop(held);
    let last_words = |from: Receiver<_>| from.recv_timeout(LAST_WORDS).ok().flatten();
    Ok(Ended {
        code: status.code(),
        signal: status.signal(),
        outcome: last_words(outcome?),
        error: error?.recv_timeout(LAST_WORDS).ok().flatten(),
    })
}

/// Listens in a thread of its own, which may outlast us.
fn listener<T: Send + 'static>(
    name: &str,
    listen: impl FnOnce() -> Option<T> + Send + 'static,
) -> io::Result<Receiver<Option<T>>> {
    let (sender, receiver) = channel();
    Builder::new().name(name.to_owned()).spawn(move || {
        // It may be that nothing waits for it any more.
        let _ = sender.send(listen());
    })?;
    Ok(receiver)
}
