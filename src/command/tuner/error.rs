//! Errors of the loop from a campaign to its table.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use campaign::CampaignError;
use explained::Explained;
use export::ExportError;
use fit::FitError;
use launcher::{JobState, LaunchError};
use model::MachineError;
use simulated::RulesError;
use store::StoreError;
use table::{Deployment, TableError};
use thiserror::Error;
use vocabulary::units::{format_counted, format_duration, format_duration_up};
use vocabulary::{CommShape, ErrorKind, Library, World};

/// An error in one of the stages.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum TunerError {
    /// The campaign is not valid.
    #[error(transparent)]
    #[kind(Input)]
    #[help(transparent)]
    Campaign(#[from] CampaignError),
    /// MPI programs could not be started or failed.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Launch(#[from] LaunchError),
    /// The machine cannot be simulated.
    #[error(transparent)]
    #[kind(Input)]
    #[help(transparent)]
    Machine(#[from] MachineError),
    /// The rules of the simulated library are not valid.
    #[error(transparent)]
    #[kind(Internal)]
    Rules(#[from] RulesError),
    /// An MPI library was requested for a simulated campaign.
    #[error("the campaign is simulated: there is no MPI library to choose")]
    #[kind(Input)]
    #[help("leave `--library` out")]
    NoLibraryToChoose,
    /// The store cannot be read or written.
    #[error(transparent)]
    #[kind(transparent)]
    Store(#[from] StoreError),
    /// The samples cannot be analysed.
    #[error(transparent)]
    #[kind(transparent)]
    Fit(Box<FitError>),
    /// The table cannot be read or written.
    #[error(transparent)]
    #[kind(transparent)]
    Table(#[from] TableError),
    /// Another file cannot be used.
    #[error("cannot {action} {}: {source}", path.display())]
    #[kind(Input)]
    File {
        /// The attempted action, as in `write`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// An output could not be written after the work.
    #[error("cannot write {}, {name}: {source}", path.display())]
    #[kind(Input)]
    #[help("name a file that can be written")]
    Output {
        /// The option or key that names the file.
        name: String,
        path: PathBuf,
        source: io::Error,
    },
    /// A file for the library still has the rules of an earlier table.
    #[error(
        "the table is written, but {} still has the rules of the table before and cannot be written again: {source}",
        path.display()
    )]
    #[kind(Input)]
    #[help(
        "{}take the file out of use: programs that read it follow these rules",
        source.help().map(|help| help + "; or ").unwrap_or_default()
    )]
    StaleExport {
        path: PathBuf,
        source: Box<ExportError>,
    },
    /// An output would replace an input or another output.
    #[error("{name} would be written to {}, the same file as {other}", path.display())]
    #[kind(Input)]
    #[help("name another file: {other} would be replaced")]
    SameFile {
        name: String,
        path: PathBuf,
        other: String,
    },
    /// The user asked to stop.
    #[error(
        "interrupted; all measurements so far are stored, run the same command again to continue"
    )]
    #[kind(Interrupted)]
    Interrupted,
    /// The user asked to stop following a job that continues.
    #[error(
        "interrupted; job {id} continues ({}); run the same command again to store its measurements",
        describe_job_state(standing)
    )]
    #[kind(Interrupted)]
    #[help("`colltune jobs` shows it, `colltune cancel {id}` ends it")]
    Left { id: String, standing: JobState },
    /// The followed job was cancelled.
    #[error(
        "the job was cancelled; all measurements so far are stored, run the same command again to continue"
    )]
    #[kind(Environment)]
    Cancelled,
    /// Another process has taken over the campaign.
    #[error(
        "another colltune has taken over this campaign, since this one did not renew its lock for more than ten minutes"
    )]
    #[kind(Environment)]
    LeaseLost,
    /// MPI started other ranks than those that were asked for.
    #[error(
        "the launch has {world}, and not the {} of {asked} that were asked for; log: {}",
        format_counted(asked.ranks(), "rank"),
        log.display()
    )]
    #[kind(Environment)]
    #[help(
        if world.ranks == 1,
        "the ranks do not find each other: start them with the library's own mpirun, or with a launcher that has the \
         library's PMI; nothing of the launch is stored"
    )]
    #[help(
        "correct `launcher` in the campaign, or variables of the environment that start or place ranks in another \
         way; nothing of the launch is stored"
    )]
    OtherStart {
        asked: CommShape,
        world: World,
        log: PathBuf,
    },
    /// Several worlds of ranks were started with the plan of one launch.
    #[error("the launch was started several times at once; log: {}", log.display())]
    #[kind(Environment)]
    #[help(
        "correct `launcher` in the campaign: each process that the launcher starts may start a launch of its own"
    )]
    SeveralStarts { log: PathBuf },
    /// Too many consecutive jobs ended before their launch began.
    #[error("{jobs} jobs in a row ended before they began to measure; the last said: {last}")]
    #[kind(Environment)]
    #[help(
        "the jobs' output is beside the plans of their launches; `colltune plan --render` shows their scripts"
    )]
    NeverBegun { jobs: u32, last: String },
    /// The batch system has forgotten a job that had measured nothing.
    #[error(
        "a job is no longer known that has measured nothing, and no other one is submitted; it said: {last}"
    )]
    #[kind(Environment)]
    #[help("look for it among your jobs; once it is gone, run the same command again to continue")]
    LostJob { last: String },
    /// The jobs' wall time is too short for a measurement.
    #[error(
        "a job's wall time of {} is too short to measure one cell",
        format_wall_time(*wall_time)
    )]
    #[kind(Input)]
    #[help("increase `job.wall_time`, or reduce the `candidates` or their `repetitions.slice`")]
    ShortWallTime { wall_time: Duration },
    /// Too many consecutive launches ended without a result.
    #[error("{launches} launches in a row ended without measuring anything; the last said: {last}")]
    #[kind(Environment)]
    #[help("`colltune doctor` checks the launcher; its log is beside the store")]
    NoProgress { launches: u32, last: String },
    /// The store has no samples to work on.
    #[error("{} holds no measurements{}", store.display(), library_clause(library))]
    #[kind(Input)]
    #[help(if !found.is_empty(), "it holds measurements of {}", join_libraries(found))]
    #[help("measure first: `colltune tune CAMPAIGN.yaml`")]
    NothingMeasured {
        store: PathBuf,
        library: Option<Library>,
        /// The libraries that the store has samples of.
        found: Vec<Library>,
    },
    /// The store has samples of several libraries and none was named.
    #[error(
        "{} has measurements of several libraries: {}",
        store.display(),
        join_libraries(found)
    )]
    #[kind(Input)]
    #[help(
        "say which with `--library`, as in `--library {}`",
        found.first().map(Library::to_string).unwrap_or_default()
    )]
    SeveralLibraries { store: PathBuf, found: Vec<Library> },
    /// The store's measurements were made under other conditions than the campaign's.
    #[error(
        "{} holds measurements of {library} with other launcher options, or another environment, placement or seed, \
         than those of the campaign's `launcher`",
        store.display()
    )]
    #[kind(Input)]
    #[help("the two cannot be compared: choose another `name`, or another `output.store`")]
    OtherConditions { store: PathBuf, library: Library },
    /// No level has a known start-up time and time per byte.
    #[error(
        "the measurements in {} do not suffice for a machine: there is no level whose alpha and beta are known",
        store.display()
    )]
    #[kind(Input)]
    #[help("`colltune fit` without `--machine` says what is missing")]
    NoMachine { store: PathBuf },
    /// The default was not measured in any cell.
    #[error("{} has no cell in which the library's default was measured", store.display())]
    #[kind(Input)]
    #[help("measure first: `colltune tune CAMPAIGN.yaml`")]
    NothingToDecide { store: PathBuf },
    /// The budget does not suffice for anything that can be decided.
    #[error(
        "the budget of {} does not suffice to compare anything with the library's default",
        format_duration(*budget_seconds)
    )]
    #[kind(Environment)]
    #[help(
        "at least about `budget: {}` is needed to measure each point once; `colltune plan` says what that is \
         estimated from",
        format_duration_up(*least_seconds)
    )]
    LittleBudget {
        budget_seconds: f64,
        /// The smallest one that suffices for a first look, estimated.
        least_seconds: f64,
    },
    /// Too few sizes and shapes were measured to hold some out from the decisions.
    #[error(
        "{} has no points of {library} to hold out: this needs several candidates at three sizes, or in a \
         shape between two others",
        store.display()
    )]
    #[kind(Input)]
    #[help(
        "measure more `sizes`, at least three, or more `shapes`, as in `shapes: [1x4, 2x4, 4x4]`"
    )]
    NothingToHoldOut { store: PathBuf, library: Library },
    /// There is no point with several candidates by which a table can be judged.
    #[error(
        "{} has no points of {library} to judge a table by: this needs several candidates of deployment \
         `{deployment}` in a cell",
        store.display()
    )]
    #[kind(Input)]
    #[help("measure with more `candidates`; the library's own algorithms are `native:*`")]
    NothingToJudge {
        store: PathBuf,
        library: Library,
        deployment: Deployment,
    },
}

impl From<FitError> for TunerError {
    fn from(error: FitError) -> Self {
        Self::Fit(Box::new(error))
    }
}

fn join_libraries(libraries: &[Library]) -> String {
    let names: Vec<String> = libraries.iter().map(Library::to_string).collect();
    names.join(", ")
}

/// A duration, as in `1h 30m`.
fn format_wall_time(time: Duration) -> String {
    jiff::SignedDuration::try_from(time)
        .map_or_else(|_| format!("{time:?}"), |time| format!("{time:#}"))
}

/// The state of a job, as a clause.
fn describe_job_state(standing: &JobState) -> String {
    match standing {
        JobState::Queued {
            reason: Some(reason),
            ..
        } => format!("it waits: {reason}"),
        JobState::Queued { reason: None, .. } => "it waits".to_owned(),
        JobState::Running { nodes } if nodes.is_empty() => "it runs".to_owned(),
        JobState::Running { nodes } => format!("it runs on {}", nodes.join(", ")),
        JobState::Ended => "it has just ended".to_owned(),
    }
}

fn library_clause(library: &Option<Library>) -> String {
    library
        .as_ref()
        .map(|library| format!(" of {library}"))
        .unwrap_or_default()
}
