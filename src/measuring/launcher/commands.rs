//! Execution of the commands of a batch system.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::LaunchError;
use super::ask::read_output;
use super::tree::MARK;

/// The time limit of a command, for busy schedulers.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// The time that a command still gets once `stop` is set, so that its effect becomes known.
const STOP_GRACE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// The commands of a batch system, found on a search path.
#[derive(Clone, Debug)]
pub struct Commands<'a> {
    path: OsString,
    /// Set by an interrupt.
    stop: Option<&'a AtomicBool>,
}

/// The output and the status of a command.
pub(crate) struct CommandAnswer {
    program: &'static str,
    succeeded: bool,
    pub(crate) output: String,
    errors: String,
}

impl Commands<'_> {
    /// The commands on `path`, the value of `$PATH`.
    pub(crate) fn on_path(path: impl Into<OsString>) -> Self {
        Self {
            path: path.into(),
            stop: None,
        }
    }

    /// The same commands, each of which is ended soon after `stop` is set.
    pub(crate) fn stopped_by<'b>(&self, stop: &'b AtomicBool) -> Commands<'b> {
        Commands {
            path: self.path.clone(),
            stop: Some(stop),
        }
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// [`LaunchError::NoCommand`] if it does not exist, [`LaunchError::Silent`] if it takes too long,
    /// [`LaunchError::Interrupted`] if it was ended because `stop` is set.
    pub(crate) fn run_command(
        &self,
        program: &'static str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<CommandAnswer, LaunchError> {
        let mut command = Command::new(program);
        command.args(arguments);
        self.run_with_timeout(program, command)
            .map_err(|source| match source.kind() {
                io::ErrorKind::TimedOut => LaunchError::Silent {
                    program,
                    message: format!("no answer for {} s", COMMAND_TIMEOUT.as_secs()),
                },
                io::ErrorKind::Interrupted => LaunchError::Interrupted,
                _ => LaunchError::NoCommand { program, source },
            })
    }

    fn run_with_timeout(
        &self,
        program: &'static str,
        mut command: Command,
    ) -> io::Result<CommandAnswer> {
        let (mut output, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
        // A job does not belong to this process, even on the same machine: it must not carry the mark of processes to
        // kill. In its own process group, no interrupt of the terminal stops a submission.
        let mut child = command
            .env("PATH", &self.path)
            .env_remove(MARK)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(errors.try_clone()?)
            .spawn()?;
        let deadline = Instant::now() + COMMAND_TIMEOUT;
        let mut stopped = None;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                stopped.get_or_insert_with(Instant::now);
            }
            let is_cut = stopped.is_some_and(|since| since.elapsed() > STOP_GRACE);
            if is_cut || Instant::now() > deadline {
                // The process may already have ended.
                let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
                child.wait()?;
                return Err(if is_cut {
                    io::ErrorKind::Interrupted.into()
                } else {
                    io::ErrorKind::TimedOut.into()
                });
            }
            thread::sleep(PAUSE);
        };
        Ok(CommandAnswer {
            program,
            succeeded: status.success(),
            output: read_output(&mut output)?,
            errors: read_output(&mut errors)?,
        })
    }
}

impl CommandAnswer {
    /// Whether the command failed with an error that contains one of these texts.
    pub(crate) fn fails_with(&self, texts: &[&str]) -> bool {
        !self.succeeded && texts.iter().any(|text| self.errors.contains(text))
    }

    /// The output of a command that only queries.
    pub(crate) fn into_output(self) -> Result<String, LaunchError> {
        if self.succeeded {
            Ok(self.output)
        } else {
            Err(self.no_answer_error())
        }
    }

    /// The answer of a command that changes something. If its error contains one of the texts `unreachable`, the batch
    /// system is temporarily unreachable.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it is unreachable, [`LaunchError::Refused`] if the command failed otherwise.
    pub(crate) fn require_success(self, unreachable: &[&str]) -> Result<Self, LaunchError> {
        match self.succeeded {
            true => Ok(self),
            false if self.fails_with(unreachable) => Err(self.no_answer_error()),
            false => Err(LaunchError::Refused {
                program: self.program,
                message: self.reason_given(),
            }),
        }
    }

    /// The last line with any text, on which a command that submits a job prints its id.
    pub(crate) fn last_line(&self) -> &str {
        let mut lines = self.output.lines().map(str::trim);
        lines.rfind(|line| !line.is_empty()).unwrap_or_default()
    }

    /// The error for an answer without the requested information.
    pub(crate) fn no_answer_error(&self) -> LaunchError {
        LaunchError::Silent {
            program: self.program,
            message: self.reason_given(),
        }
    }

    /// The command's error message and its output, on one line.
    fn reason_given(&self) -> String {
        let printed = self.printed_text();
        if printed.is_empty() {
            "no reason given".to_owned()
        } else {
            printed
        }
    }

    /// All that the command has printed, first its errors, on one line.
    pub(crate) fn printed_text(&self) -> String {
        let lines = self.errors.lines().chain(self.output.lines());
        let lines: Vec<&str> = lines
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        lines.join("; ")
    }
}
