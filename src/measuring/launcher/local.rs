//! Ranks on this machine or on hosts of a file, through the library's own mpirun.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use libraries::NodeSource;
use tempfile::TempDir;
use vocabulary::CommShape;

use super::command::{CommandParts, launcher_command};
use super::hosts::first_hosts;
use super::tree::ProcessTree;
use super::{Exit, Installation, Job, LaunchError, Launcher, Outcome, Running};
use crate::{LocalOptions, Oversubscribe};

/// The time for the launcher to end its ranks when asked to.
const GRACE: Duration = Duration::from_secs(3);
/// The time for the launcher to start `true` on all ranks.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// The variable with the folder of temporary files.
const TMPDIR: &str = "TMPDIR";
/// The part of a log that an error repeats.
const TAIL_LINES: usize = 12;
const TAIL_BYTES: u64 = 8192;

/// The binding of ranks to cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Each rank is bound to its own core.
    Bound,
    /// The kernel places the ranks, in any number.
    Free,
}

/// Starts programs with one MPI library, on this machine or on the hosts of a file.
#[derive(Debug)]
pub struct LocalLauncher {
    installation: Installation,
    options: LocalOptions,
    /// The cores of each node; unknown for the hosts of a file.
    cores: Option<u32>,
    /// Bindings by shape, since determining one costs a launch.
    bindings: Mutex<BTreeMap<CommShape, Binding>>,
}

impl LocalLauncher {
    /// A launcher for this machine, which has this many cores ([`crate::usable_cores`]), or for the hosts of a file,
    /// which have an unknown number of cores.
    pub fn new(installation: Installation, options: LocalOptions, cores: u32) -> Self {
        Self {
            installation,
            cores: options.hosts.is_none().then_some(cores),
            options,
            bindings: Mutex::default(),
        }
    }

    /// The binding of the ranks of a launch: bound, unless a node has more ranks than cores or the launcher cannot bind
    /// them, as in containers that show it other cores than it may use, or if a host file has fewer slots. Only the
    /// launcher knows the cores of the hosts of a file.
    ///
    /// # Errors
    /// [`LaunchError::TooFewCores`] or [`LaunchError::Crowded`] if the options forbid the only possible binding; the
    /// launcher cannot be started.
    pub fn determine_binding(&self, shape: CommShape) -> Result<Binding, LaunchError> {
        let ranks = shape.ppn;
        let never = self.options.oversubscribe == Oversubscribe::Never;
        match self.cores {
            Some(cores) if ranks > cores && never => {
                return Err(LaunchError::TooFewCores { ranks, cores });
            }
            Some(cores) if ranks > cores => return Ok(Binding::Free),
            _ if self.options.oversubscribe == Oversubscribe::Always => return Ok(Binding::Free),
            _ => {}
        }
        let mut known = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(binding) = known.get(&shape) {
            return Ok(*binding);
        }
        let binding = match self.can_bind(shape)? {
            true => Binding::Bound,
            false if never && self.cores.is_none() => return Err(LaunchError::Crowded { shape }),
            false => Binding::Free,
        };
        known.insert(shape, binding);
        Ok(binding)
    }

    /// Whether the launcher can start `true` on the bound ranks of this shape.
    fn can_bind(&self, shape: CommShape) -> Result<bool, LaunchError> {
        let mut command = self.build_command(shape, Binding::Bound, &[])?;
        command
            .arg("true")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut spawned = self.spawn_launcher(command)?;
        Ok(spawned
            .tree
            .wait(PROBE_TIMEOUT)?
            .is_some_and(|status| status.success()))
    }

    fn build_command(
        &self,
        shape: CommShape,
        binding: Binding,
        environment: &[(OsString, OsString)],
    ) -> Result<Command, LaunchError> {
        let LocalOptions {
            options,
            environment: own,
            hosts,
            oversubscribe: _,
        } = &self.options;
        let names_hosts = self.installation.name.facts().names_hosts;
        let names = match hosts {
            Some(hosts) if names_hosts => first_hosts(&hosts.file, shape),
            _ => Ok(Vec::new()),
        };
        let names = names.map_err(|problem| LaunchError::SeveralNodes {
            shape,
            problem: Some(problem),
        })?;
        let start = CommandParts {
            options,
            own,
            environment,
            inherited: &[],
            nodes: match hosts {
                None => NodeSource::Here,
                Some(hosts) if names_hosts => NodeSource::Named(&names, hosts.placement),
                Some(hosts) => NodeSource::File(&hosts.file, hosts.placement),
            },
        };
        launcher_command(&self.installation, &start, shape, binding)
    }

    /// Starts the launcher with its own temporary folder: Open MPI 4 keeps session files in the user's folder there,
    /// and concurrent launches that create and remove this folder disturb each other.
    fn spawn_launcher(&self, mut command: Command) -> Result<Spawned, LaunchError> {
        let asked = command.get_envs().find(|(name, _)| *name == TMPDIR);
        let asked = asked.and_then(|(_, value)| value).map(PathBuf::from);
        // Ranks on other hosts, which do not have this folder, must not use it.
        let forwards = asked.is_some() || self.installation.name.facts().forwards_environment;
        let session = match &self.options.hosts {
            Some(_) if forwards => None,
            _ => {
                let place = asked.unwrap_or_else(std::env::temp_dir);
                let mut folder = tempfile::Builder::new();
                // Without a folder, the launcher uses the default one.
                folder.prefix("colltune-").tempdir_in(&place).ok()
            }
        };
        if let Some(folder) = &session {
            command.env(TMPDIR, folder.path());
        }
        let launcher = self.installation.launcher.clone();
        let tree = ProcessTree::spawn(command)
            .map_err(|source| LaunchError::Start { launcher, source })?;
        Ok(Spawned {
            tree,
            _session: session,
        })
    }
}

impl Launcher for LocalLauncher {
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError> {
        let Job {
            driver,
            plan,
            log,
            environment,
            timeout,
            ..
        } = job;
        let shape = job.shape();
        let binding = self.determine_binding(shape)?;
        let mut command = self.build_command(shape, binding, environment)?;
        let (out, err) = open_log(log).map_err(|source| LaunchError::Log {
            path: log.clone(),
            source,
        })?;
        command.arg(driver).arg(plan).stdout(out).stderr(err);
        let spawned = self.spawn_launcher(command)?;
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        Ok(Box::new(LocalRun {
            spawned,
            log: log.clone(),
            deadline,
            ended: None,
        }))
    }
}

/// The launcher with its processes.
struct Spawned {
    tree: ProcessTree,
    /// Removed after they have ended.
    _session: Option<TempDir>,
}

/// A job that runs on this machine.
struct LocalRun {
    spawned: Spawned,
    log: PathBuf,
    deadline: Option<Instant>,
    /// The outcome, if it does not follow from the launcher's status.
    ended: Option<Outcome>,
}

impl LocalRun {
    fn kill_with_outcome(&mut self, outcome: Outcome) -> Result<(), LaunchError> {
        // A job that has already ended by itself keeps its outcome.
        if self.spawned.tree.poll()?.is_none() {
            self.ended = Some(outcome);
            self.spawned.tree.kill(GRACE)?;
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
            self.kill_with_outcome(Outcome::TimedOut)?;
        }
        let Some(status) = self.spawned.tree.poll()? else {
            return Ok(None);
        };
        let outcome = self.ended.unwrap_or_else(|| outcome_of_status(status));
        // An unreadable log must not hide the job's outcome.
        let tail = read_log_tail(&self.log).unwrap_or_default();
        Ok(Some(Exit {
            outcome,
            log: self.log.clone(),
            tail,
            failed_nodes: Vec::new(),
        }))
    }

    fn kill(&mut self) -> Result<(), LaunchError> {
        self.kill_with_outcome(Outcome::Killed)
    }
}

fn outcome_of_status(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => Outcome::Success,
        (Some(code), _) => Outcome::Code(code),
        (None, signal) => Outcome::Signal(signal.unwrap_or_default()),
    }
}

/// Opens the log for standard output and standard error, with a common position in the file.
fn open_log(path: &Path) -> io::Result<(File, File)> {
    let file = File::create(path)?;
    Ok((file.try_clone()?, file))
}

/// The last lines of a file of any length.
pub(super) fn read_log_tail(path: &Path) -> io::Result<Vec<String>> {
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
