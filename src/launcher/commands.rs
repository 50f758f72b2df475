//! Running the commands of a batch system, and reading what they answer.

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
use super::ask::written;
use super::tree::MARK;

/// How long a command may take. Busy schedulers take their time.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// How much longer a command may take once `stop` is set, so that it is known what it has changed.
const STOP_GRACE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// The commands of a batch system, by the directories that have them.
#[derive(Clone, Debug)]
pub struct Commands<'a> {
    path: OsString,
    /// Set by an interrupt.
    stop: Option<&'a AtomicBool>,
}

/// What a command answered.
pub(crate) struct Answer {
    program: &'static str,
    succeeded: bool,
    pub(crate) output: String,
    errors: String,
}

impl Commands<'_> {
    /// The commands that are found on `path`, the value of `$PATH`.
    pub(crate) fn on(path: impl Into<OsString>) -> Self {
        Self {
            path: path.into(),
            stop: None,
        }
    }

    /// The same, which are ended soon after `stop` is set.
    pub(crate) fn until<'b>(&self, stop: &'b AtomicBool) -> Commands<'b> {
        Commands {
            path: self.path.clone(),
            stop: Some(stop),
        }
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// [`LaunchError::NoCommand`] if it is not there, [`LaunchError::Silent`] if it takes too long,
    /// [`LaunchError::Interrupted`] if it was ended because `stop` is set.
    pub(crate) fn ask(
        &self,
        program: &'static str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Answer, LaunchError> {
        let mut command = Command::new(program);
        command.args(arguments);
        self.run(program, command)
            .map_err(|source| match source.kind() {
                io::ErrorKind::TimedOut => LaunchError::Silent {
                    program,
                    message: format!("no answer for {} s", COMMAND_TIMEOUT.as_secs()),
                },
                io::ErrorKind::Interrupted => LaunchError::Interrupted,
                _ => LaunchError::NoCommand { program, source },
            })
    }

    fn run(&self, program: &'static str, mut command: Command) -> io::Result<Answer> {
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
                // What is gone by now need not be killed.
                let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
                child.wait()?;
                return Err(match is_cut {
                    true => io::ErrorKind::Interrupted.into(),
                    false => io::ErrorKind::TimedOut.into(),
                });
            }
            thread::sleep(PAUSE);
        };
        Ok(Answer {
            program,
            succeeded: status.success(),
            output: written(&mut output)?,
            errors: written(&mut errors)?,
        })
    }
}

impl Answer {
    /// Whether the command failed and its error has one of these texts in it.
    pub(crate) fn fails_with(&self, texts: &[&str]) -> bool {
        !self.succeeded && texts.iter().any(|text| self.errors.contains(text))
    }

    /// What a command printed that only looks.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it failed.
    pub(crate) fn told(self) -> Result<String, LaunchError> {
        match self.succeeded {
            true => Ok(self.output),
            false => Err(self.silent()),
        }
    }

    /// The answer of a command that changes something. Its error has one of the texts of `away` in it if the
    /// batch system cannot be reached for the moment.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] if it cannot, [`LaunchError::Refused`] if the command failed otherwise.
    pub(crate) fn obeyed(self, away: &[&str]) -> Result<Self, LaunchError> {
        match self.succeeded {
            true => Ok(self),
            false if self.fails_with(away) => Err(self.silent()),
            false => Err(LaunchError::Refused {
                program: self.program,
                message: self.words(),
            }),
        }
    }

    /// Where a command that submits a job prints its id.
    pub(crate) fn last_line(&self) -> &str {
        self.output.lines().last().unwrap_or_default().trim()
    }

    /// The error of an answer that does not say what was asked.
    pub(crate) fn silent(&self) -> LaunchError {
        LaunchError::Silent {
            program: self.program,
            message: self.words(),
        }
    }

    /// The command's own words about what went wrong, on one line.
    fn words(&self) -> String {
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
