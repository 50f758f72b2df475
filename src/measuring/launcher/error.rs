//! The errors of this crate.

use std::ffi::OsString;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use explained::Explained;
use libraries::LibraryName;
use nix::sys::signal::Signal;
use thiserror::Error;
use vocabulary::units::format_counted;
use vocabulary::{CommShape, ErrorKind, Library};

use super::{BATCH_SYSTEMS, BatchEnd, Outcome, Refusal};
use crate::HostFileError;

/// An error of a launch.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum LaunchError {
    /// No launcher of a known MPI library.
    #[error(
        "no MPI library found: no usable mpirun or mpiexec in {}",
        list_paths(searched)
    )]
    #[kind(Environment)]
    #[help(
        "install one, as in `apt-get install openmpi-bin libopenmpi-dev` or `apt-get install mpich libmpich-dev`, \
         load its module, or name its mpirun in the campaign: `library: {{name: openmpi, launcher: \
         /path/to/mpirun}}`"
    )]
    NoMpi { searched: Vec<PathBuf> },
    /// The library that the campaign requests is not installed.
    #[error("{wanted} is not installed here; found: {}", found.join(", "))]
    #[kind(Environment)]
    #[help("install it, load its module, or choose another with `library:` in the campaign")]
    NotInstalled {
        /// Name, and version if one is requested.
        wanted: String,
        found: Vec<String>,
    },
    /// The launcher in the campaign belongs to no known MPI library.
    #[error(
        "`{}` is not the launcher of {}: {reason}",
        launcher.display(),
        LibraryName::ALL.map(|library| library.facts().title).join(" or ")
    )]
    #[kind(Environment)]
    #[help("correct `library` in the campaign; `colltune doctor` lists what is there")]
    Unusable {
        launcher: PathBuf,
        /// The reason why it is not the launcher.
        #[source]
        reason: Refusal,
    },
    /// A command that starts ranks cannot give them their variables.
    #[error("`{program}` cannot be given a table: {message}")]
    #[kind(Input)]
    #[help(
        "`colltune run TABLE --print-environment` prints what ranks need, for a script that sets it"
    )]
    Step {
        program: &'static str,
        message: String,
    },
    /// The launcher in the campaign belongs to another library or version.
    #[error("`{}` belongs to {found}, the campaign asks for {wanted}", launcher.display())]
    #[kind(Environment)]
    #[help("correct `library` in the campaign; `colltune doctor` lists what is there")]
    OtherLibrary {
        launcher: PathBuf,
        found: Library,
        wanted: String,
    },
    /// No measuring program for a library.
    #[error(
        "no measuring program for {library}; looked for {}",
        list_paths(searched)
    )]
    #[kind(Environment)]
    #[help("build it with `make driver MPICC=...`, the mpicc of {library}")]
    NoDriver {
        library: Library,
        searched: Vec<PathBuf>,
    },
    /// The folder that `COLLTUNE_LIBDIR` names does not exist.
    #[error("COLLTUNE_LIBDIR names `{}`, which is not a folder", path.display())]
    #[kind(Environment)]
    #[help("correct the variable, or unset it to use `lib/colltune` of the installation")]
    NoLibdir { path: PathBuf },
    /// A measuring program does not list the library's algorithms.
    #[error("`{}` does not list the library's algorithms: {reason}", driver.display())]
    #[kind(Environment)]
    #[help("build it anew with `make driver`; it may be older than this command")]
    NoNatives {
        driver: PathBuf,
        #[source]
        reason: Refusal,
    },
    /// A node has more ranks than cores, which the campaign forbids.
    #[error(
        "{ranks} ranks do not fit on {} and `oversubscribe` is never",
        format_counted(cores, "core")
    )]
    #[kind(Environment)]
    #[help(
        "use at most {} or set `oversubscribe: auto` in the campaign",
        format_counted(cores, "rank")
    )]
    TooFewCores { ranks: u32, cores: u32 },
    /// A host seems to have more ranks than cores, which the campaign forbids.
    #[error("the launcher cannot bind the ranks of {shape} to cores and `oversubscribe` is never")]
    #[kind(Environment)]
    #[help("use fewer ranks on a node, or set `oversubscribe: auto` in the campaign")]
    Crowded { shape: CommShape },
    /// A shape has more nodes than are known.
    #[error("cannot launch {shape}: {}", describe_known_nodes(problem))]
    #[kind(Input)]
    #[help(if let Some(problem) = problem, problem.help())]
    #[help("use shapes of one node, or add `launcher: {{local: {{hostfile: FILE}}}}`")]
    SeveralNodes {
        shape: CommShape,
        /// The problem of the host file; `None` if there is none.
        problem: Option<HostFileError>,
    },
    /// The launcher cannot be started.
    #[error("cannot start `{}`: {source}", launcher.display())]
    #[kind(Environment)]
    Start {
        launcher: PathBuf,
        source: io::Error,
    },
    /// The log cannot be written.
    #[error("cannot write the log `{}`: {source}", path.display())]
    #[kind(Input)]
    #[help("make its directory writable")]
    Log { path: PathBuf, source: io::Error },
    /// The operating system does not report the launcher's status.
    #[error("cannot monitor the launcher: {0}")]
    #[kind(Environment)]
    Watch(io::Error),
    /// Processes of a launch cannot be killed.
    #[error("processes {pids:?} of a launch survive SIGKILL")]
    #[kind(Environment)]
    #[help("they hang in the kernel; look at them with `ps`")]
    Survivors { pids: Vec<i32> },
    /// A command of a batch system cannot be run.
    #[error("cannot run `{program}`: {source}")]
    #[kind(Environment)]
    #[help("run this where jobs are submitted, or load the batch system's module")]
    NoCommand {
        program: &'static str,
        source: io::Error,
    },
    /// A batch system refuses a request.
    #[error("`{program}` refuses: {message}")]
    #[kind(Input)]
    #[help(
        if is_submission(program),
        "correct `job` in the campaign; `colltune plan --render` shows the script"
    )]
    Refused {
        program: &'static str,
        message: String,
    },
    /// A batch system cannot be reached, or gives no usable answer.
    #[error("`{program}` does not answer: {message}")]
    #[kind(Environment)]
    #[help("jobs continue without it; run the same command again when it answers")]
    Silent {
        program: &'static str,
        message: String,
    },
    /// A script may have been submitted, but no job is known; none is submitted again.
    #[error(
        "no job of the name {name} is known {seconds} s after its submission, to which `{program}` answered {}{}",
        quote_answer(answer),
        describe_cancellation(problem.as_deref())
    )]
    #[kind(Environment)]
    #[help(
        "look for {name} among your jobs, on other clusters too; a job that exists nevertheless ends when it begins"
    )]
    Unknown {
        program: &'static str,
        /// The job's name in the queue.
        name: String,
        /// What the command printed, or the reason why there is no answer.
        answer: String,
        seconds: u64,
        /// The reason why jobs of this name could not be cancelled.
        problem: Option<Box<Self>>,
    },
    /// The user interrupted the submission.
    #[error("interrupted before the job was submitted")]
    #[kind(Interrupted)]
    Interrupted,
    /// A job still runs although it was cancelled.
    #[error("job {id} still runs {seconds} s after it was cancelled")]
    #[kind(Environment)]
    #[help("ask the batch system's operators")]
    NotCancelled { id: String, seconds: u64 },
    /// A template of a script cannot be rendered.
    #[error("{}:{line}: {message}", path.display())]
    #[kind(Input)]
    #[help("jobs/README.md lists the variables of templates")]
    Template {
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        message: String,
    },
    /// A script cannot contain this path or environment variable.
    #[error("a job's script cannot contain `{}`", what.display())]
    #[kind(Input)]
    #[help("use names without line breaks, in UTF-8; variables are letters, digits and `_`")]
    NotText { what: OsString },
    /// A file of a job cannot be read or written.
    #[error("cannot {action} `{}`: {source}", path.display())]
    #[kind(Input)]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A file of a job is invalid.
    #[error("`{}` is damaged: {message}", path.display())]
    #[kind(Input)]
    #[help("remove it if its job is gone")]
    Record { path: PathBuf, message: String },
    /// The launcher, or the program below it, failed.
    #[error("{}; log: {}{}", describe_outcome(*outcome, failed_nodes), log.display(), quote_log_tail(tail))]
    #[kind(Environment)]
    Failed {
        outcome: Outcome,
        log: PathBuf,
        tail: Vec<String>,
        failed_nodes: Vec<String>,
    },
}

impl LaunchError {
    pub(super) fn for_file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

fn quote_answer(answer: &str) -> String {
    if answer.is_empty() {
        "nothing".to_owned()
    } else {
        format!("`{answer}`")
    }
}

/// A clause about jobs that were cancelled by their name.
fn describe_cancellation(problem: Option<&LaunchError>) -> String {
    match problem {
        None => "; jobs of this name were cancelled".to_owned(),
        Some(problem) => format!("; jobs of this name could not be cancelled: {problem}"),
    }
}

fn is_submission(program: &str) -> bool {
    let mut systems = BATCH_SYSTEMS.into_iter();
    systems.any(|system| system.words().submit == program)
}

fn describe_outcome(outcome: Outcome, failed_nodes: &[String]) -> String {
    match outcome {
        Outcome::Success => "the launcher succeeded".to_owned(),
        Outcome::Code(code) => format!("the launcher exited with code {code}"),
        Outcome::Signal(number) => match Signal::try_from(number) {
            Ok(signal) => format!("the launcher was ended by signal {number} ({signal})"),
            Err(_) => format!("the launcher was ended by signal {number}"),
        },
        Outcome::TimedOut => "the launch exceeded its time limit and was killed".to_owned(),
        Outcome::Killed => "the launch was killed".to_owned(),
        Outcome::Ended(BatchEnd::NodeFailed) if !failed_nodes.is_empty() => {
            format!("a node of the job failed: {}", failed_nodes.join(", "))
        }
        Outcome::Ended(end) => match end {
            BatchEnd::WallTime => "the job reached its wall time",
            BatchEnd::Cancelled => "the job was cancelled",
            BatchEnd::Preempted => "the job was pre-empted",
            BatchEnd::NodeFailed => "a node of the job failed",
            BatchEnd::OutOfMemory => "the job ran out of memory",
            BatchEnd::NotBegun => "the job ended before the launch began",
            BatchEnd::Lost => "the batch system no longer knows the job",
        }
        .to_owned(),
    }
}

fn describe_known_nodes(problem: &Option<HostFileError>) -> String {
    match problem {
        None => "without a host file there is one node, this machine".to_owned(),
        Some(problem) => problem.to_string(),
    }
}

fn list_paths(paths: &[PathBuf]) -> String {
    let texts: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if texts.is_empty() {
        "an empty search path".to_owned()
    } else {
        texts.join(", ")
    }
}

fn quote_log_tail(tail: &[String]) -> String {
    tail.iter().fold(String::new(), |mut text, line| {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  | {line}");
        text
    })
}
