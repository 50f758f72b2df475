//! A process tree, which can be ended as a whole.
//!
//! Launchers put ranks into their own process groups and sessions, so killing a group is not enough. Every process of a
//! tree inherits an environment variable with a unique value; this process is made a subreaper, so that orphans become
//! its children and not init's; and killing continues until no process with the mark, nor any descendant of one, is
//! left. Processes without the mark, such as other children of this process, are never touched.

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
/// The time that processes may take to end after SIGKILL.
const KILL_PATIENCE: Duration = Duration::from_secs(10);
/// The time that ending processes may take to become our children and be reaped.
const BURIAL_PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// A started process with all its descendants.
pub(crate) struct ProcessTree {
    root: Child,
    status: Option<ExitStatus>,
    mark: Vec<u8>,
    /// Every process of the tree that was ever observed, to be reaped if it becomes our child.
    seen: BTreeSet<i32>,
    swept: bool,
}

impl ProcessTree {
    /// Starts a command in its own process group, so that the terminal's interrupt does not reach it.
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

    /// The status of the first process once it has ended. The rest of the tree is killed then.
    pub(crate) fn poll(&mut self) -> Result<Option<ExitStatus>, LaunchError> {
        if self.root_status()?.is_some() && !self.swept {
            self.kill_remaining()?;
        }
        Ok(self.status)
    }

    /// As [`ProcessTree::poll`], but waits for at most `timeout`.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, LaunchError> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.poll()? {
                None if Instant::now() < deadline => thread::sleep(PAUSE),
                status => return Ok(status),
            }
        }
    }

    /// Asks the first process to end, waits for at most `grace`, then kills the whole tree.
    pub(crate) fn kill(&mut self, grace: Duration) -> Result<(), LaunchError> {
        if self.root_status()?.is_none() && !grace.is_zero() {
            // Processes that the launcher still starts carry the mark. Those running now are remembered because zombies
            // can no longer be recognised.
            self.remember_members();
            // The root has not been reaped, so its id cannot belong to another process.
            let _ = kill(self.root_pid(), Signal::SIGTERM);
            let deadline = Instant::now() + grace;
            while self.root_status()?.is_none() && Instant::now() < deadline {
                thread::sleep(PAUSE);
            }
        }
        self.kill_remaining()
    }

    /// Asks all processes to end, waits for at most `grace`, then kills those that are left. Unlike a launcher, a script
    /// does not pass on what it is asked.
    pub(crate) fn terminate(&mut self, grace: Duration) -> Result<(), LaunchError> {
        for pid in self.remember_members() {
            // The process may already have ended.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        let deadline = Instant::now() + grace;
        // The root's end is observed, since it stays a member until then.
        while (self.root_status()?.is_none() || !self.remember_members().is_empty())
            && Instant::now() < deadline
        {
            self.reap_orphans();
            thread::sleep(PAUSE);
        }
        self.kill_remaining()
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

    fn remember_members(&mut self) -> Vec<i32> {
        let members = marked_processes(&self.mark);
        self.seen.extend(&members);
        members
    }

    /// Kills the remaining processes until none is left.
    fn kill_remaining(&mut self) -> Result<(), LaunchError> {
        let deadline = Instant::now() + KILL_PATIENCE;
        let mut quiet = None;
        loop {
            if self.root_status()?.is_none() {
                // The root belongs to the tree even if it has removed its mark.
                let _ = kill(self.root_pid(), Signal::SIGKILL);
            }
            let members = self.remember_members();
            for &pid in &members {
                // The process may already have ended.
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            self.reap_orphans();
            if members.is_empty() && self.root_status()?.is_some() {
                // A dying process no longer has an environment, so it is not a member, but it keeps its children, even
                // dead ones, until it is dead.
                let since = *quiet.get_or_insert_with(Instant::now);
                if !self.has_lingering_processes() || since.elapsed() > BURIAL_PATIENCE {
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

    /// Whether any observed process still exists, possibly as a zombie.
    fn has_lingering_processes(&self) -> bool {
        let root = self.root_pid().as_raw();
        let mut others = self.seen.iter().filter(|pid| **pid != root);
        others.any(|pid| read_process(*pid).is_some())
    }

    /// Reaps the members that became our children when their parents died.
    fn reap_orphans(&mut self) {
        let root = self.root_pid().as_raw();
        let own = std::process::id().cast_signed();
        for &pid in self.seen.iter().filter(|pid| **pid != root) {
            if read_process(pid).is_some_and(|process| process.zombie && process.parent == own) {
                let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
            }
        }
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if !self.swept {
            // An error cannot be returned here.
            let _ = self.kill(Duration::ZERO);
        }
    }
}

/// A process in `/proc`.
struct Process {
    parent: i32,
    zombie: bool,
}

fn read_process(pid: i32) -> Option<Process> {
    // `pid (name) state parent ...`, where the name may contain anything.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let zombie = matches!(fields.next()?, "Z" | "X");
    Some(Process {
        parent: fields.next()?.parse().ok()?,
        zombie,
    })
}

/// The living processes that carry the mark, and their descendants.
fn marked_processes(mark: &[u8]) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let living: BTreeMap<i32, i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| {
            read_process(pid)
                .filter(|process| !process.zombie)
                .map(|process| (pid, process.parent))
        })
        .collect();
    let mut members: BTreeSet<i32> = living
        .keys()
        .copied()
        .filter(|pid| carries_mark(*pid, mark))
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

fn carries_mark(pid: i32, mark: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == mark)
    })
}
