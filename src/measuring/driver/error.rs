//! Errors that end a launch.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use benchmarking::{Failure, PlanError, SpoolError};
use environment::shared_memory;
use exec::{ExecError, NoChannels};
use runtime::RuntimeError;
use thiserror::Error;
use vocabulary::{CommShape, Library, World};
use wire::{FailureKind, WIRE_VERSION, exit_code};

/// A reason to end the launch without finishing the plan.
#[derive(Debug, Error)]
pub(crate) enum DriverError {
    #[error(
        "usage: colltune-driver PLAN | colltune-driver --identify | colltune-driver --natives | colltune-driver --settings"
    )]
    Usage,
    #[error("cannot start a copy of this program to read the library's settings")]
    Settings,
    #[error("cannot read the plan {}: {source}", path.display())]
    ReadPlan {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the plan {} is not valid: {source}", path.display())]
    ParsePlan {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error(
        "the plan has version {0}, this driver reads version {WIRE_VERSION}; rebuild it (`make driver`)"
    )]
    PlanVersion(u32),
    #[error(
        "the plan asks for {planned}, but this driver runs on {found}; rebuild it (`make driver MPICC=...`) or name the other library in the campaign"
    )]
    OtherLibrary { planned: Library, found: Library },
    #[error(
        "MPI started {found}, but the plan needs {needed}: the launcher was not asked for these ranks, or the ranks do not find each other"
    )]
    SmallWorld { found: World, needed: CommShape },
    #[error(
        "`cache: cold` needs {} MiB of memory on a node (twice its caches), more than half of the {} MiB available on one; free some memory, or use `cache: warm`",
        .wanted >> 20,
        .available >> 20
    )]
    NoRoom { wanted: u64, available: u64 },
    #[error(
        "task {0} of the plan needs ranks that arrive at different times, and thus `synchronisation: window`"
    )]
    SkewedAtBarrier(u32),
    #[error(
        "{} is {value:?}, not {}",
        shared_memory::VARIABLE,
        shared_memory::EXPECTED
    )]
    SharedMemory { value: OsString },
    #[error("cannot append to the spool {}: {source}", path.display())]
    Spool {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot write a record: {0}")]
    Encode(#[from] serde_json::Error),
    #[error("cannot read the clock: {0}")]
    Clock(nix::Error),
    #[error("cannot make a file in memory for the library's report on its components: {0}")]
    ComponentReport(nix::Error),
    #[error("the ranks did not finish comparing their clocks in time: a rank or the network hangs")]
    Clocks,
    #[error(transparent)]
    Mpi(#[from] ExecError),
    #[error(
        "cannot prepare a candidate: {0}; the library may have no communicator left, or the node no memory"
    )]
    Preparing(#[from] RuntimeError),
    /// An error in a candidate's turn, but outside its own call; recorded as the candidate's failure.
    #[error("task {task}, candidate {candidate}: {source}")]
    Turn {
        task: u32,
        candidate: u32,
        source: ExecError,
    },
}

impl From<SpoolError> for DriverError {
    fn from(error: SpoolError) -> Self {
        match error {
            SpoolError::Encode(source) => source.into(),
            SpoolError::Write { path, source } => Self::Spool { path, source },
            closed @ SpoolError::Closed => Self::Spool {
                path: PathBuf::new(),
                source: std::io::Error::other(closed),
            },
        }
    }
}

impl DriverError {
    /// Says what to do about a plan that is not carried out.
    pub(crate) fn from_plan_error(path: &Path, error: PlanError) -> Self {
        match error {
            PlanError::Parse(source) => Self::ParsePlan {
                path: path.to_owned(),
                source,
            },
            PlanError::Version(version) => Self::PlanVersion(version),
            PlanError::OtherLibrary { planned, found } => Self::OtherLibrary { planned, found },
        }
    }

    /// The prefix of the message on standard error. The tuner treats `colltune-driver: ` as the prefix of an error that
    /// no candidate has caused.
    pub(crate) fn message_prefix(&self) -> &'static str {
        match self {
            Self::Turn { .. } => "colltune-driver (in a turn): ",
            _ => "colltune-driver: ",
        }
    }

    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Usage
            | Self::ReadPlan { .. }
            | Self::ParsePlan { .. }
            | Self::PlanVersion(_)
            | Self::NoRoom { .. }
            | Self::SharedMemory { .. }
            | Self::SkewedAtBarrier(_) => exit_code::PLAN,
            Self::OtherLibrary { .. } => exit_code::LIBRARY,
            Self::SmallWorld { .. } => exit_code::START,
            Self::Settings
            | Self::Spool { .. }
            | Self::Encode(_)
            | Self::Clock(_)
            | Self::Clocks
            | Self::ComponentReport(_)
            | Self::Mpi(_)
            | Self::Preparing(_) => exit_code::FAILED,
            Self::Turn { .. } => exit_code::TURN,
        }
    }
}

/// The failure of a candidate that an error means.
pub(crate) fn failure_from_error(error: &ExecError) -> Failure {
    Failure {
        kind: match error {
            ExecError::Mpi { .. } | ExecError::Tool { .. } => FailureKind::MpiError,
            _ => FailureKind::Unsupported,
        },
        message: error.to_string(),
    }
}

/// The failure of a candidate that needs channels of shared memory.
pub(crate) fn no_channels_failure(reason: NoChannels) -> Failure {
    Failure::unsupported(format!("no shared memory: {reason}"))
}
