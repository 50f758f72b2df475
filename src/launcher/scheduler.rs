//! What batch systems have in common: jobs are submitted, asked for and cancelled by commands.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::pbs::Pbs;
use super::slurm::Slurm;
use super::tree::MARK;
use super::{BatchEnd, LaunchError};
use crate::BatchSystem;

/// How long a command may take. Busy schedulers take their time.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// A job as its batch system knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct JobId {
    /// As commands print it.
    pub(super) id: String,
    /// The cluster, where commands must be told.
    pub(super) cluster: Option<String>,
    /// Its name in the queue: a controller that lost its last seconds gives ids again.
    pub(super) name: String,
}

/// What is submitted.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    /// The job's name in the queue, by which it is found again.
    pub(super) name: &'a str,
    pub(super) script: &'a Path,
    /// Where the batch system writes what the script prints.
    pub(super) output: &'a Path,
    /// It begins no earlier than so much after now.
    pub(super) begin_in: Duration,
}

/// How a job is, in the eyes of its batch system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// It waits for nodes, and why.
    Queued { reason: Option<String> },
    /// It has nodes.
    Running,
    /// It is over.
    Ended { end: End, failed_nodes: Vec<String> },
}

/// How a job ended, in the eyes of its batch system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Its script did, with this code.
    Exited(i32),
    /// It was ended.
    By(BatchEnd),
}

/// The commands of a batch system.
pub(super) trait Scheduler: Send + Sync {
    /// Whether a script would be taken, without submitting it.
    ///
    /// # Errors
    /// [`LaunchError::Refused`] in the batch system's own words.
    fn check(&self, request: &Request<'_>) -> Result<(), LaunchError>;

    /// Submits a script.
    ///
    /// # Errors
    /// [`LaunchError::Refused`] in the batch system's own words; [`LaunchError::Silent`] if it
    /// cannot be reached, and it is not known whether the script was taken.
    fn submit(&self, request: &Request<'_>) -> Result<JobId, LaunchError>;

    /// How these jobs are; those that are missing in the answer are no longer known.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it cannot be reached.
    fn status(&self, jobs: &[JobId]) -> Result<BTreeMap<JobId, Status>, LaunchError>;

    /// The job of this name that was submitted last, if it is still known.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it cannot be reached.
    fn find(&self, name: &str) -> Result<Option<JobId>, LaunchError>;

    /// Asks for the end of a job; nothing happens if it has ended.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it cannot be reached, [`LaunchError::Refused`].
    fn cancel(&self, job: &JobId) -> Result<(), LaunchError>;
}

/// The scheduler of a batch system whose commands are looked for on `path`.
pub(super) fn scheduler(system: BatchSystem, path: &OsStr) -> Box<dyn Scheduler> {
    let commands = Commands {
        path: path.to_owned(),
    };
    match system {
        BatchSystem::Slurm => Box::new(Slurm(commands)),
        BatchSystem::Pbs => Box::new(Pbs(commands)),
    }
}

/// Where the commands are.
pub(super) struct Commands {
    path: OsString,
}

/// What a command answered.
pub(super) struct Answer {
    pub(super) succeeded: bool,
    pub(super) output: String,
    pub(super) errors: String,
}

impl Commands {
    /// Runs a command to its end.
    ///
    /// # Errors
    /// [`LaunchError::NoCommand`] if it is not there, [`LaunchError::Silent`] if it takes too long.
    pub(super) fn ask(
        &self,
        program: &'static str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Answer, LaunchError> {
        let mut command = Command::new(program);
        command.args(arguments);
        self.run(command).map_err(|source| match source.kind() {
            io::ErrorKind::TimedOut => LaunchError::Silent {
                program,
                message: format!("no answer for {} s", COMMAND_TIMEOUT.as_secs()),
            },
            _ => LaunchError::NoCommand { program, source },
        })
    }

    fn run(&self, mut command: Command) -> io::Result<Answer> {
        let (mut output, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
        // A job is no process of ours, be it that it runs on this very machine: it must not carry the
        // mark of those that are killed. Out of reach of the terminal, no interrupt cuts a submission off.
        let mut child = command
            .env("PATH", &self.path)
            .env_remove(MARK)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(errors.try_clone()?)
            .spawn()?;
        let deadline = Instant::now() + COMMAND_TIMEOUT;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() > deadline {
                // What is gone by now need not be killed.
                let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
                child.wait()?;
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(PAUSE);
        };
        Ok(Answer {
            succeeded: status.success(),
            output: text(&mut output)?,
            errors: text(&mut errors)?,
        })
    }
}

fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Answer {
    /// The command's own words about what went wrong, on one line.
    pub(super) fn words(&self) -> String {
        let lines = self.errors.lines().chain(self.output.lines());
        let lines: Vec<&str> = lines
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        match lines.is_empty() {
            true => "no reason given".to_owned(),
            false => lines.join("; "),
        }
    }
}
