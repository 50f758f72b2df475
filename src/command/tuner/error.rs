//! Errors of the loop from a campaign to its table.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use campaign::CampaignError;
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
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum TunerError {
    /// The campaign is not valid.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// MPI programs could not be started or failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The machine cannot be simulated.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The rules of the simulated library are not valid.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// An MPI library was requested for a simulated campaign.
    #[error("the campaign is simulated: there is no MPI library to choose")]
    NoLibraryToChoose,
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The samples cannot be analysed.
    #[error(transparent)]
    Fit(Box<FitError>),
    /// The table cannot be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Another file cannot be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The attempted action, as in `write`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// An output could not be written after the work.
    #[error("cannot write {}, {name}: {source}", path.display())]
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
    StaleExport {
        path: PathBuf,
        source: Box<ExportError>,
    },
    /// An output would replace an input or another output.
    #[error("{name} would be written to {}, the same file as {other}", path.display())]
    SameFile {
        name: String,
        path: PathBuf,
        other: String,
    },
    /// The user asked to stop.
    #[error(
        "interrupted; all measurements so far are stored, run the same command again to continue"
    )]
    Interrupted,
    /// The user asked to stop following a job that continues.
    #[error(
        "interrupted; job {id} continues ({}); run the same command again to store its measurements",
        describe_job_state(standing)
    )]
    Left { id: String, standing: JobState },
    /// The followed job was cancelled.
    #[error(
        "the job was cancelled; all measurements so far are stored, run the same command again to continue"
    )]
    Cancelled,
    /// Another process has taken over the campaign.
    #[error(
        "another colltune has taken over this campaign, since this one did not renew its lock for more than ten minutes"
    )]
    LeaseLost,
    /// MPI started other ranks than those that were asked for.
    #[error(
        "the launch has {world}, and not the {} of {asked} that were asked for; log: {}",
        format_counted(asked.ranks(), "rank"),
        log.display()
    )]
    OtherStart {
        asked: CommShape,
        world: World,
        log: PathBuf,
    },
    /// Several worlds of ranks were started with the plan of one launch.
    #[error("the launch was started several times at once; log: {}", log.display())]
    SeveralStarts { log: PathBuf },
    /// Too many consecutive jobs ended before their launch began.
    #[error("{jobs} jobs in a row ended before they began to measure; the last said: {last}")]
    NeverBegun { jobs: u32, last: String },
    /// The batch system has forgotten a job that had measured nothing.
    #[error(
        "a job is no longer known that has measured nothing, and no other one is submitted; it said: {last}"
    )]
    LostJob { last: String },
    /// The jobs' wall time is too short for a measurement.
    #[error(
        "a job's wall time of {} is too short to measure one cell",
        format_wall_time(*wall_time)
    )]
    ShortWallTime { wall_time: Duration },
    /// Too many consecutive launches ended without a result.
    #[error("{launches} launches in a row ended without measuring anything; the last said: {last}")]
    NoProgress { launches: u32, last: String },
    /// The store has no samples to work on.
    #[error("{} holds no measurements{}", store.display(), library_clause(library))]
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
    SeveralLibraries { store: PathBuf, found: Vec<Library> },
    /// The store's measurements were made under other conditions than the campaign's.
    #[error(
        "{} holds measurements of {library} with other launcher options, or another environment, placement or seed, \
         than those of the campaign's `launcher`",
        store.display()
    )]
    OtherConditions { store: PathBuf, library: Library },
    /// No level has a known start-up time and time per byte.
    #[error(
        "the measurements in {} do not suffice for a machine: there is no level whose alpha and beta are known",
        store.display()
    )]
    NoMachine { store: PathBuf },
    /// The default was not measured in any cell.
    #[error("{} has no cell in which the library's default was measured", store.display())]
    NothingToDecide { store: PathBuf },
    /// The budget does not suffice for anything that can be decided.
    #[error(
        "the budget of {} does not suffice to compare anything with the library's default",
        format_duration(*budget_seconds)
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
    NothingToHoldOut { store: PathBuf, library: Library },
    /// There is no point with several candidates by which a table can be judged.
    #[error(
        "{} has no points of {library} to judge a table by: this needs several candidates of deployment \
         `{deployment}` in a cell",
        store.display()
    )]
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

impl TunerError {
    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Launch(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Fit(error) if !matches!(**error, FitError::NotATime { .. }) => {
                ErrorKind::Internal
            }
            Self::Rules(_) | Self::Table(TableError::Unsound(_) | TableError::Altered { .. }) => {
                ErrorKind::Internal
            }
            Self::Interrupted | Self::Left { .. } => ErrorKind::Interrupted,
            Self::NoProgress { .. }
            | Self::OtherStart { .. }
            | Self::SeveralStarts { .. }
            | Self::Cancelled
            | Self::LeaseLost
            | Self::LittleBudget { .. }
            | Self::LostJob { .. }
            | Self::NeverBegun { .. } => ErrorKind::Environment,
            Self::Campaign(_)
            | Self::Machine(_)
            | Self::NoLibraryToChoose
            | Self::File { .. }
            | Self::Output { .. }
            | Self::StaleExport { .. }
            | Self::SameFile { .. }
            | Self::NothingMeasured { .. }
            | Self::SeveralLibraries { .. }
            | Self::OtherConditions { .. }
            | Self::NoMachine { .. }
            | Self::NothingToDecide { .. }
            | Self::NothingToHoldOut { .. }
            | Self::NothingToJudge { .. }
            | Self::ShortWallTime { .. }
            | Self::Fit(_)
            | Self::Table(_) => ErrorKind::Input,
        }
    }

    /// A remedy, if the message does not say it already.
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::Campaign(error) => return error.help(),
            Self::Launch(error) => return error.help(),
            Self::Machine(error) => return error.help(),
            Self::Output { .. } => "name a file that can be written",
            Self::SameFile { other, .. } => {
                return Some(format!("name another file: {other} would be replaced"));
            }
            Self::StaleExport { source, .. } => {
                let remedy = source
                    .help()
                    .map_or_else(String::new, |help| help + "; or ");
                return Some(format!(
                    "{remedy}take the file out of use: programs that read it follow these rules"
                ));
            }
            Self::LittleBudget { least_seconds, .. } => {
                return Some(format!(
                    "at least about `budget: {}` is needed to measure each point once; `colltune plan` says what that is estimated from",
                    format_duration_up(*least_seconds)
                ));
            }
            Self::NoLibraryToChoose => "leave `--library` out",
            Self::NothingToJudge { .. } => {
                "measure with more `candidates`; the library's own algorithms are `native:*`"
            }
            Self::NothingMeasured { found, .. } if !found.is_empty() => {
                return Some(format!(
                    "it holds measurements of {}",
                    join_libraries(found)
                ));
            }
            Self::NothingMeasured { .. } | Self::NothingToDecide { .. } => {
                "measure first: `colltune tune CAMPAIGN.yaml`"
            }
            Self::NoMachine { .. } => "`colltune fit` without `--machine` says what is missing",
            Self::NothingToHoldOut { .. } => {
                "measure more `sizes`, at least three, or more `shapes`, as in `shapes: [1x4, 2x4, 4x4]`"
            }
            Self::SeveralLibraries { found, .. } => {
                let first = found.first().map(Library::to_string).unwrap_or_default();
                return Some(format!(
                    "say which with `--library`, as in `--library {first}`"
                ));
            }
            Self::OtherConditions { .. } => {
                "the two cannot be compared: choose another `name`, or another `output.store`"
            }
            Self::Left { id, .. } => {
                return Some(format!(
                    "`colltune jobs` shows it, `colltune cancel {id}` ends it"
                ));
            }
            Self::LostJob { .. } => {
                "look for it among your jobs; once it is gone, run the same command again to continue"
            }
            Self::NeverBegun { .. } => {
                "the jobs' output is beside the plans of their launches; `colltune plan --render` shows their scripts"
            }
            Self::OtherStart { world, .. } if world.ranks == 1 => {
                "the ranks do not find each other: start them with the library's own mpirun, or with a launcher that \
                 has the library's PMI; nothing of the launch is stored"
            }
            Self::OtherStart { .. } => {
                "correct `launcher` in the campaign, or variables of the environment that start or place ranks in \
                 another way; nothing of the launch is stored"
            }
            Self::SeveralStarts { .. } => {
                "correct `launcher` in the campaign: each process that the launcher starts may start a launch of its own"
            }
            Self::ShortWallTime { .. } => {
                "increase `job.wall_time`, or reduce the `candidates` or their `repetitions.slice`"
            }
            Self::NoProgress { .. } => {
                "`colltune doctor` checks the launcher; its log is beside the store"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}
