//! A process and everything that it starts, as one thing that can be ended.
//!
//! Launchers put ranks into process groups and sessions of their own, so killing a group is not
//! enough. Every process of a tree inherits an environment variable with a unique value; this
//! process is made a subreaper, so that orphans come to it and not to init; and killing goes on
//! until no process with the mark, nor any descendant of one, is left. Processes without the
//! mark, such as other children of this process, are never touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::LaunchError;

/// The variable that marks the processes of a tree.
pub(crate) const MARK: &str = "COLLTUNE_LAUNCH";
/// How long processes may take to die of SIGKILL.
const KILL_PATIENCE: Duration = Duration::from_secs(10);
/// How long those that are dying may take to become ours and be buried.
const BURIAL_PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// A started process with all its descendants.
pub(crate) struct ProcessTree {
    root: Child,
    status: Option<ExitStatus>,
    mark: Vec<u8>,
    /// Every process of the tree that was ever seen, to be reaped if it became our child.
    seen: BTreeSet<i32>,
    swept: bool,
}

impl ProcessTree {
    /// Starts a command in a process group of its own, out of reach of the terminal's interrupt.
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        prctl::set_child_subreaper(true)?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let started = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let value = format!("{}-{started}-{count}", std::process::id());
        let root = command.env(MARK, &value).process_group(0).spawn()?;
        let mark = format!("{MARK}={value}").into_bytes();
        Ok(Self {
            root,
            status: None,
            mark,
            seen: BTreeSet::new(),
            swept: false,
        })
    }

    /// The status of the first process once it has ended. Whatever it left behind is killed then.
    pub(crate) fn poll(&mut self) -> Result<Option<ExitStatus>, LaunchError> {
        if self.root_status()?.is_some() && !self.swept {
            self.sweep()?;
        }
        Ok(self.status)
    }

    /// Does what [`ProcessTree::poll`] does, and waits for at most `timeout`.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, LaunchError> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.poll()? {
                None if Instant::now() < deadline => thread::sleep(PAUSE),
                status => return Ok(status),
            }
        }
    }

    /// Asks the first process to end, waits for at most `grace`, then kills all of the tree.
    pub(crate) fn kill(&mut self, grace: Duration) -> Result<(), LaunchError> {
        if self.root_status()?.is_none() && !grace.is_zero() {
            // What the launcher starts until it ends carries the mark; what is running now is
            // remembered because zombies can no longer be recognised.
            self.remember();
            // The root has not been reaped, so its id cannot belong to another process.
            let _ = kill(self.root_pid(), Signal::SIGTERM);
            let deadline = Instant::now() + grace;
            while self.root_status()?.is_none() && Instant::now() < deadline {
                thread::sleep(PAUSE);
            }
        }
        self.sweep()
    }

    fn root_pid(&self) -> Pid {
        Pid::from_raw(self.root.id().cast_signed())
    }

    fn root_status(&mut self) -> Result<Option<ExitStatus>, LaunchError> {
        if self.status.is_none() {
            self.status = self.root.try_wait().map_err(LaunchError::Watch)?;
        }
        Ok(self.status)
    }

    fn remember(&mut self) -> Vec<i32> {
        let members = members(&self.mark);
        self.seen.extend(&members);
        members
    }

    /// Kills what is left until nothing is left.
    fn sweep(&mut self) -> Result<(), LaunchError> {
        let deadline = Instant::now() + KILL_PATIENCE;
        let mut quiet = None;
        loop {
            if self.root_status()?.is_none() {
                // The root is ours even if it should have hidden its mark.
                let _ = kill(self.root_pid(), Signal::SIGKILL);
            }
            let members = self.remember();
            for &pid in &members {
                // A process that is gone by now is what we want.
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            self.reap();
            if members.is_empty() && self.root_status()?.is_some() {
                // A dying process has no environment any more, so it is no member, but it keeps its
                // children, dead ones too, until it is dead.
                let since = *quiet.get_or_insert_with(Instant::now);
                if !self.lingers() || since.elapsed() > BURIAL_PATIENCE {
                    self.swept = true;
                    return Ok(());
                }
            }
            if Instant::now() > deadline {
                return Err(LaunchError::Survivors { pids: members });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Whether any process that was ever seen is still there, be it as a zombie.
    fn lingers(&self) -> bool {
        let root = self.root_pid().as_raw();
        let mut others = self.seen.iter().filter(|pid| **pid != root);
        others.any(|pid| process(*pid).is_some())
    }

    /// Buries the members that became our children when their parents died.
    fn reap(&mut self) {
        let root = self.root_pid().as_raw();
        let own = std::process::id().cast_signed();
        for &pid in self.seen.iter().filter(|pid| **pid != root) {
            if process(pid).is_some_and(|process| process.zombie && process.parent == own) {
                let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
            }
        }
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if !self.swept {
            // A failure cannot be returned any more.
            let _ = self.kill(Duration::ZERO);
        }
    }
}

/// What `/proc` says about a process.
struct Process {
    parent: i32,
    zombie: bool,
}

fn process(pid: i32) -> Option<Process> {
    // `pid (name) state parent ...`, where the name may hold anything.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let zombie = matches!(fields.next()?, "Z" | "X");
    Some(Process {
        parent: fields.next()?.parse().ok()?,
        zombie,
    })
}

/// The living processes that carry the mark, and their descendants.
fn members(mark: &[u8]) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let living: BTreeMap<i32, i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| {
            process(pid)
                .filter(|process| !process.zombie)
                .map(|process| (pid, process.parent))
        })
        .collect();
    let mut members: BTreeSet<i32> = living
        .keys()
        .copied()
        .filter(|pid| carries(*pid, mark))
        .collect();
    loop {
        let known = members.len();
        let born = living.iter().filter(|(_, parent)| members.contains(parent));
        let born: Vec<i32> = born.map(|(pid, _)| *pid).collect();
        members.extend(born);
        if members.len() == known {
            return members.into_iter().collect();
        }
    }
}

fn carries(pid: i32, mark: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == mark)
    })
}
