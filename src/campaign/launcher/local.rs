//! Ranks on this machine, through the library's own mpirun.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::unistd::Uid;

use super::tree::ProcessTree;
use super::{Exit, Installation, Job, LaunchError, Launcher, Outcome, Running};
use crate::{LibraryName, LocalOptions, Oversubscribe};

/// Time for the launcher to end its ranks when asked to.
const GRACE: Duration = Duration::from_secs(3);
/// Time for the launcher to start `true` on all ranks.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// How much of a log an error repeats.
const TAIL_LINES: usize = 12;
const TAIL_BYTES: u64 = 8192;

/// How ranks are placed on cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each rank on a core of its own.
    Bound,
    /// Wherever the kernel puts them, as many as asked for.
    Free,
}

/// Starts programs on this machine with one MPI library.
#[derive(Debug)]
pub struct LocalLauncher {
    installation: Installation,
    options: LocalOptions,
    cores: u32,
    /// By number of ranks: asking the launcher costs a launch.
    placements: Mutex<BTreeMap<u32, Placement>>,
}

impl LocalLauncher {
    /// A launcher for a machine of this many cores ([`crate::cores`]).
    pub fn new(installation: Installation, options: LocalOptions, cores: u32) -> Self {
        Self {
            installation,
            options,
            cores,
            placements: Mutex::default(),
        }
    }

    /// How this many ranks will be placed: bound, unless there are more of them than cores or the
    /// launcher cannot bind them, as in containers that show it other cores than it may use.
    ///
    /// # Errors
    /// [`LaunchError::TooFewCores`] if the options forbid the only possible placement, or the
    /// launcher cannot be started.
    pub fn placement(&self, ranks: u32) -> Result<Placement, LaunchError> {
        if ranks > self.cores && self.options.oversubscribe == Oversubscribe::Never {
            return Err(LaunchError::TooFewCores {
                ranks,
                cores: self.cores,
            });
        }
        if ranks > self.cores || self.options.oversubscribe == Oversubscribe::Always {
            return Ok(Placement::Free);
        }
        let mut known = self
            .placements
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(placement) = known.get(&ranks) {
            return Ok(*placement);
        }
        let placement = if self.can_bind(ranks)? {
            Placement::Bound
        } else {
            Placement::Free
        };
        known.insert(ranks, placement);
        Ok(placement)
    }

    /// Whether the launcher can start `true` on this many bound ranks.
    fn can_bind(&self, ranks: u32) -> Result<bool, LaunchError> {
        let mut command = self.command(ranks, Placement::Bound);
        command
            .arg("true")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut tree = self.spawn(command)?;
        Ok(tree
            .wait(PROBE_TIMEOUT)?
            .is_some_and(|status| status.success()))
    }

    /// The launcher with its own arguments; the program's are to follow.
    fn command(&self, ranks: u32, placement: Placement) -> Command {
        let mut command = Command::new(&self.installation.launcher);
        let options = &self.options.options;
        // Launchers refuse or ignore a second binding; the user's word counts.
        let binds = options
            .iter()
            .any(|option| option.trim_start_matches('-') == "bind-to");
        match self.installation.name {
            LibraryName::OpenMpi => {
                command.args(["-np", &ranks.to_string()]);
                if placement == Placement::Free {
                    command.arg("--oversubscribe");
                }
                if !binds {
                    command.args(["--bind-to", binding(placement)]);
                }
                if Uid::effective().is_root() {
                    for runtime in ["OMPI", "PRTE"] {
                        command.env(format!("{runtime}_ALLOW_RUN_AS_ROOT"), "1");
                        command.env(format!("{runtime}_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
                    }
                }
            }
            LibraryName::Mpich => {
                // Without `fork` hydra would go through ssh or a batch system.
                command.args(["-launcher", "fork", "-n", &ranks.to_string()]);
                if !binds {
                    command.args(["-bind-to", binding(placement)]);
                }
            }
        }
        command
            .args(options)
            .envs(&self.options.environment)
            .stdin(Stdio::null());
        command
    }

    fn spawn(&self, command: Command) -> Result<ProcessTree, LaunchError> {
        let launcher = self.installation.launcher.clone();
        ProcessTree::spawn(command).map_err(|source| LaunchError::Start { launcher, source })
    }
}

impl Launcher for LocalLauncher {
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError> {
        let Job {
            driver,
            plan,
            ranks,
            ppn,
            log,
            environment,
            timeout,
        } = job;
        let (ranks, ppn) = (*ranks, *ppn);
        if ranks != ppn {
            return Err(LaunchError::SeveralNodes { ranks, ppn });
        }
        let mut command = self.command(ranks, self.placement(ranks)?);
        let (out, err) = open_log(log).map_err(|source| LaunchError::Log {
            path: log.clone(),
            source,
        })?;
        command
            .arg(driver)
            .arg(plan)
            .envs(environment.iter().cloned())
            .stdout(out)
            .stderr(err);
        let tree = self.spawn(command)?;
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        Ok(Box::new(LocalRun {
            tree,
            log: log.clone(),
            deadline,
            ended: None,
        }))
    }
}

/// A job that runs on this machine.
struct LocalRun {
    tree: ProcessTree,
    log: PathBuf,
    deadline: Option<Instant>,
    /// How it ended, if that is not for the launcher's status to say.
    ended: Option<Outcome>,
}

impl LocalRun {
    fn end(&mut self, outcome: Outcome) -> Result<(), LaunchError> {
        // Whoever ends a job that has already ended on its own does not change how it ended.
        if self.tree.poll()?.is_none() {
            self.ended = Some(outcome);
            self.tree.kill(GRACE)?;
        }
        Ok(())
    }
}

impl Running for LocalRun {
    fn poll(&mut self) -> Result<Option<Exit>, LaunchError> {
        if self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            self.end(Outcome::TimedOut)?;
        }
        let Some(status) = self.tree.poll()? else {
            return Ok(None);
        };
        let outcome = self.ended.unwrap_or_else(|| outcome(status));
        // A log that cannot be read must not hide how the job ended.
        let tail = tail(&self.log).unwrap_or_default();
        Ok(Some(Exit {
            outcome,
            log: self.log.clone(),
            tail,
        }))
    }

    fn kill(&mut self) -> Result<(), LaunchError> {
        self.end(Outcome::Killed)
    }
}

fn binding(placement: Placement) -> &'static str {
    match placement {
        Placement::Bound => "core",
        Placement::Free => "none",
    }
}

fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => Outcome::Success,
        (Some(code), _) => Outcome::Code(code),
        (None, signal) => Outcome::Signal(signal.unwrap_or_default()),
    }
}

/// The log, opened for standard output and standard error: one place in the file for both.
fn open_log(path: &Path) -> io::Result<(File, File)> {
    let file = File::create(path)?;
    Ok((file.try_clone()?, file))
}

/// The last lines of a file, however long it is.
fn tail(path: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(TAIL_LINES);
    Ok(lines[first..]
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect())
}
