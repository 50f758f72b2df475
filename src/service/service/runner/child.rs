//! A child process.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard};
use std::thread::Builder;
use std::time::Duration;

use answers::{OutputLine, PrintedEvent};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde_json::Value;

use super::lines::{keep_log, read_lines};
use crate::database::lock_ignoring_poison;
use crate::disk::Disk;
use crate::lower_priority;

/// The time to read a child's remaining output after the child and its process group have ended: a process outside
/// the group may keep the pipe open.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// The longest event that is passed on, in bytes: the feed keeps many. Longer ones are dropped.
const LONGEST_EVENT: usize = 64 << 10;

/// The result of a child process.
#[derive(Debug, Default)]
pub(super) struct ChildExit {
    /// The exit code; absent if a signal ended the child.
    pub(super) code: Option<i32>,
    /// The signal that ended the child.
    pub(super) signal: Option<i32>,
    /// The outcome that the child printed, if any.
    pub(super) outcome: Option<Value>,
    /// The last error in its log.
    pub(super) error: Option<String>,
}

/// Sends signals to a child while it exists, and never to a later process with the same number.
#[derive(Debug, Default)]
pub(super) struct ChildSignals(Mutex<Option<Pid>>);

impl ChildSignals {
    /// Whether the child exists.
    pub(super) fn is_running(&self) -> bool {
        self.lock_pid().is_some()
    }

    /// Asks the child to end, by SIGINT.
    pub(super) fn interrupt_child(&self) {
        if let Some(pid) = *self.lock_pid() {
            // The child may have ended.
            let _ = kill(pid, Signal::SIGINT);
        }
    }

    /// Kills the child's process group.
    pub(super) fn kill_group(&self) {
        if let Some(pid) = *self.lock_pid() {
            let _ = killpg(pid, Signal::SIGKILL);
        }
    }

    fn lock_pid(&self) -> MutexGuard<'_, Option<Pid>> {
        lock_ignoring_poison(&self.0)
    }
}

/// Runs a command to its end, in its own process group, which is killed when the command ends. Each line of its
/// standard output is JSON and is passed to `on_event`, except the outcome; standard error goes to the log, on this disk.
/// No thread polls. The calling thread has a lower priority afterwards.
pub(super) fn run_to_end(
    mut command: Command,
    signals: &ChildSignals,
    log: &Path,
    disk: &Disk,
    mut on_event: impl FnMut(PrintedEvent) + Send + 'static,
) -> io::Result<ChildExit> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut held = signals.lock_pid();
    let mut child = command.spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    *held = Some(pid);
    drop(held);
    // The child inherited the old priority; the listener threads inherit the lowered one.
    lower_priority();
    let (out, err, log) = (child.stdout.take(), child.stderr.take(), log.to_owned());
    let outcome = spawn_listener("output of a task", move || {
        let mut outcome = None;
        let out = out?;
        // After a read error the child ends by itself.
        let _ = read_lines(out, |line| match OutputLine::parse_line(line) {
            Some(OutputLine::Outcome(found)) => outcome = Some(found),
            Some(OutputLine::Event(event)) if line.len() <= LONGEST_EVENT => on_event(event),
            _ => {}
        });
        outcome
    });
    let disk = disk.clone();
    let error = spawn_listener("log of a task", move || {
        keep_log(err?, &log, |error| disk.note_error(error))
            .ok()
            .flatten()
    });
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(pid), flags) == Err(Errno::EINTR) {}
    // The child is not reaped yet, so its number and its group's number are still valid.
    let mut held_at_end = signals.lock_pid();
    let _ = killpg(pid, Signal::SIGKILL);
    *held_at_end = None;
    let status = child.wait()?;
    drop(held_at_end);
    let drained = |from: Receiver<_>| from.recv_timeout(DRAIN_TIME).ok().flatten();
    Ok(ChildExit {
        code: status.code(),
        signal: status.signal(),
        outcome: drained(outcome?),
        error: error?.recv_timeout(DRAIN_TIME).ok().flatten(),
    })
}

/// Runs `listen` in its own thread, which may outlive the caller.
fn spawn_listener<T: Send + 'static>(
    name: &str,
    listen: impl FnOnce() -> Option<T> + Send + 'static,
) -> io::Result<Receiver<Option<T>>> {
    let (sender, receiver) = channel();
    Builder::new().name(name.to_owned()).spawn(move || {
        // The caller may have stopped waiting.
        let _ = sender.send(listen());
    })?;
    Ok(receiver)
}
