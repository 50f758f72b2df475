//! What can go wrong between a campaign and its table.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use campaign::CampaignError;
use fit::FitError;
use launcher::{JobState, LaunchError};
use simulated::RulesError;
use store::StoreError;
use table::{Deployment, TableError};
use thiserror::Error;
use vocabulary::Library;

use crate::MachineError;

/// A stage that could not be carried out.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum TunerError {
    /// The campaign.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// Starting or running MPI programs.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The machine that is simulated.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The library that stands for one in a simulation.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// An MPI library is asked for where none is used.
    #[error("the campaign is simulated: there is no MPI library to choose")]
    NoLibraryToChoose,
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The samples.
    #[error(transparent)]
    Fit(Box<FitError>),
    /// The table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A file that is not one of the above.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried, as in `write`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A file that could not be written when the work is done.
    #[error("cannot write {}, {name}: {source}", path.display())]
    Output {
        /// What names it, such as an option or a key.
        name: String,
        path: PathBuf,
        source: io::Error,
    },
    /// What is to be written would replace what is read, or is written twice.
    #[error("{name} would be written to {}, the same file as {other}", path.display())]
    SameFile {
        name: String,
        path: PathBuf,
        other: String,
    },
    /// The user asked to stop.
    #[error("interrupted; what was measured is stored, run the same command to go on")]
    Interrupted,
    /// The user asked to stop following a job that goes on without us.
    #[error(
        "interrupted; job {id} goes on ({}), and what it measures is stored by the same command, run again",
        describe(standing)
    )]
    Left { id: String, standing: JobState },
    /// The job that was followed was cancelled.
    #[error("the job was cancelled; what was measured is stored, run the same command to go on")]
    Cancelled,
    /// Another process has taken over the campaign.
    #[error(
        "another colltune has taken over this campaign, since this one was away for more than ten minutes"
    )]
    LeaseLost,
    /// Job after job ends before its launch begins.
    #[error("{jobs} jobs in a row ended before they began to measure; the last said: {last}")]
    NeverBegun { jobs: u32, last: String },
    /// A job's wall time ends before anything is measured.
    #[error(
        "a job's wall time of {} does not suffice to measure one cell",
        span(*wall_time)
    )]
    ShortWallTime { wall_time: Duration },
    /// Launch after launch ends without a result.
    #[error("{launches} launches in a row ended without measuring anything; the last said: {last}")]
    NoProgress { launches: u32, last: String },
    /// The store has no samples to work on.
    #[error("{} holds no measurements{}", store.display(), of(library))]
    NothingMeasured {
        store: PathBuf,
        library: Option<Library>,
    },
    /// The store has samples of several libraries and none was named.
    #[error(
        "{} has measurements of several libraries: {}",
        store.display(),
        found.iter().map(Library::to_string).collect::<Vec<_>>().join(", ")
    )]
    SeveralLibraries { store: PathBuf, found: Vec<Library> },
    /// The store's measurements were made under other conditions than the campaign's.
    #[error(
        "{} holds measurements of {library} under other launcher options or another environment, \
         placement or seed than those of the campaign's `launcher`",
        store.display()
    )]
    OtherConditions { store: PathBuf, library: Library },
    /// No level's start-up time and time per byte are both known, so there is no machine to write.
    #[error(
        "the measurements in {} do not suffice for a machine: alpha and beta are known of no level",
        store.display()
    )]
    NoMachine { store: PathBuf },
    /// The default was measured in no cell, so there is nothing to decide.
    #[error("{} has no cell in which the library's default was measured", store.display())]
    NothingToDecide { store: PathBuf },
    /// Too few sizes and shapes were measured to keep some from the decisions.
    #[error(
        "{} has no points of {library} to hold out: nowhere were several candidates measured at three \
         sizes, or in a shape between two others",
        store.display()
    )]
    NothingToHoldOut { store: PathBuf, library: Library },
    /// Nowhere was there anything to choose, so that no choice can be judged.
    #[error(
        "{} has no points of {library} to judge a table by: nowhere were several candidates measured that \
         are to be had in deployment `{deployment}`",
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

/// A duration, as in `1h 30m`.
fn span(time: Duration) -> String {
    jiff::SignedDuration::try_from(time)
        .map_or_else(|_| format!("{time:?}"), |time| format!("{time:#}"))
}

/// Where a job stands, as a clause.
fn describe(standing: &JobState) -> String {
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

fn of(library: &Option<Library>) -> String {
    library
        .as_ref()
        .map(|library| format!(" of {library}"))
        .unwrap_or_default()
}

impl TunerError {
    /// What the user can do about it, where the message does not say so itself.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Campaign(error) => error.help(),
            Self::Launch(error) => error.help(),
            Self::Machine(error) => error.help(),
            Self::Output { .. } => Some("name a file that can be written".to_owned()),
            Self::SameFile { other, .. } => {
                Some(format!("name another file: {other} would be replaced"))
            }
            Self::NoLibraryToChoose => Some("leave `--library` out".to_owned()),
            Self::NothingToJudge { .. } => Some(
                "measure with more `candidates`; the library's own algorithms are `native:*`".to_owned(),
            ),
            Self::NothingMeasured { .. } | Self::NothingToDecide { .. } => {
                Some("measure first: `colltune tune CAMPAIGN.yaml`".to_owned())
            }
            Self::NoMachine { .. } => {
                Some("`colltune fit` without `--machine` says what is missing".to_owned())
            }
            Self::NothingToHoldOut { .. } => Some(
                "measure more `sizes`, at least three, or more `shapes`, as in `shapes: [1x4, 2x4, 4x4]`"
                    .to_owned(),
            ),
            Self::SeveralLibraries { found, .. } => {
                let first = found.first().map(Library::to_string).unwrap_or_default();
                Some(format!(
                    "say which with `--library`, as in `--library {first}`"
                ))
            }
            Self::OtherConditions { .. } => Some(
                "the two cannot be compared: choose another `name`, or another `output.store`"
                    .to_owned(),
            ),
            Self::Left { id, .. } => Some(format!(
                "`colltune jobs` shows it, `colltune cancel {id}` ends it"
            )),
            Self::NeverBegun { .. } => Some(
                "what jobs printed is beside the plans of their launches; `colltune plan --render` shows                  their scripts"
                    .to_owned(),
            ),
            Self::ShortWallTime { .. } => Some(
                "give `job.wall_time` more, or cells fewer `candidates`, or candidates less time with                  `repetitions.slice`"
                    .to_owned(),
            ),
            Self::NoProgress { .. } => Some(
                "`colltune doctor` checks the launcher; its log is beside the store".to_owned(),
            ),
            _ => None,
        }
    }
}
