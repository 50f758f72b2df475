//! What ends a launch.

use std::path::PathBuf;

use exec::ExecError;
use thiserror::Error;
use wire::{Library, WIRE_VERSION, exit_code};

/// A reason to end the launch without finishing the plan.
#[derive(Debug, Error)]
pub(crate) enum DriverError {
    #[error("usage: colltune-driver PLAN | colltune-driver --identify")]
    Usage,
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
        "the plan has version {0}, this driver speaks {WIRE_VERSION}; rebuild it (`make driver`)"
    )]
    PlanVersion(u32),
    #[error(
        "the plan asks for {planned}, but this driver runs on {found}; rebuild it (`make driver MPICC=...`) or name the other library in the campaign"
    )]
    OtherLibrary { planned: Library, found: Library },
    #[error("cannot append to the spool {}: {source}", path.display())]
    Spool {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot write a record: {0}")]
    Encode(#[from] serde_json::Error),
    #[error(transparent)]
    Mpi(#[from] ExecError),
}

impl DriverError {
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Usage | Self::ReadPlan { .. } | Self::ParsePlan { .. } | Self::PlanVersion(_) => {
                exit_code::PLAN
            }
            Self::OtherLibrary { .. } => exit_code::LIBRARY,
            Self::Spool { .. } | Self::Encode(_) | Self::Mpi(_) => exit_code::FAILED,
        }
    }
}
