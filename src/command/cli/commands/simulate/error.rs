//! Errors of simulations.

use std::path::PathBuf;

use explained::Explained;
use model::SimulationError;
use schedule::{Collective, Unsupported};
use thiserror::Error;
use vocabulary::units::{format_bytes, format_counted};

use super::super::schedule::{LengthOption, unsupported_help};

/// A simulation that could not be carried out.
#[derive(Debug, Error, Explained)]
pub(crate) enum SimulateError {
    #[error("the measurements in {} do not suffice for a machine", path.display())]
    #[help("`colltune fit` says what is missing")]
    NoMachine { path: PathBuf },
    #[error("the length of the call is not given")]
    #[help(
        if *is_irregular,
        "give it with `--bytes`, as in --bytes 64K --distribution uniform, or all lengths with `--counts`"
    )]
    #[help("give it with `--bytes`, as in --bytes 64K")]
    NoSize { is_irregular: bool },
    /// A call that the algorithm does not support.
    #[error("{source}")]
    #[help(unsupported_help(source, *length_by))]
    Unsupported {
        source: Unsupported,
        length_by: LengthOption,
    },
    /// The schedule cannot be simulated.
    #[error(transparent)]
    #[help(transparent)]
    Simulation(#[from] SimulationError),
    #[error(
        "the size of {} is not a whole number of elements of {element_bytes} bytes",
        format_counted(bytes, "byte")
    )]
    #[help("choose another length, or the size of an element with --element-bytes")]
    PartOfElement { bytes: u64, element_bytes: u64 },
    #[error("`{name}` is not an algorithm of {collective}")]
    #[help("`colltune schedule list` names them all")]
    OtherCollective {
        name: String,
        collective: Collective,
    },
    #[error(
        "the simulation of {name} on {ranks} ranks carries about {messages} messages, more than {limit}"
    )]
    #[help("ask for fewer ranks or blocks")]
    TooLong {
        name: String,
        ranks: u32,
        messages: String,
        limit: String,
    },
    #[error(
        "{name} on {ranks} ranks has about {messages} messages under way at once, more than {limit}"
    )]
    #[help("ask for fewer ranks")]
    TooManyAtOnce {
        name: String,
        ranks: u32,
        messages: String,
        limit: String,
    },
    #[error(
        "{name} of {} bytes on {ranks} ranks is not simulated within the limit of {limit}",
        format_bytes(*bytes)
    )]
    #[help("--time-limit gives more time, and fewer ranks or blocks take less")]
    NoTime {
        name: String,
        ranks: u64,
        bytes: u64,
        limit: String,
    },
    #[error("nothing is simulated\n{reasons}")]
    #[help("--time-limit gives more time, and fewer ranks or blocks take less")]
    NothingSimulated { reasons: String },
    #[error("{ranks} ranks are more than the limit of {limit}")]
    TooManyRanks { ranks: u64, limit: u32 },
    #[error("a trace needs exactly one algorithm in one call")]
    #[help("name one with --algorithm, one number of ranks and one size")]
    NotOne,
    #[error("a picture needs a range of sizes or ranks for its horizontal axis")]
    #[help("give --bytes, --ranks or --nodes as a range, or one --algorithm for its timeline")]
    NoAxis,
    #[error("all times are 0, so there is nothing to draw")]
    #[help("give more ranks, or longer messages")]
    NothingToDraw,
    #[error(
        "{what} has too much to draw: {ranks} ranks, and {events} messages, combinations and copies"
    )]
    #[help("ask for fewer ranks or blocks, or for --format trace")]
    TooLargeToDraw {
        what: String,
        ranks: u32,
        events: usize,
    },
}

impl SimulateError {
    /// Whether other algorithms can still be simulated.
    pub(super) fn concerns_one_algorithm(&self) -> bool {
        matches!(
            self,
            Self::Unsupported { .. }
                | Self::Simulation(SimulationError::Unsupported(_))
                | Self::TooLong { .. }
                | Self::TooManyAtOnce { .. }
                | Self::NoTime { .. }
        )
    }

    /// Whether only the length of the simulation is at fault.
    pub(super) fn is_only_too_long(&self) -> bool {
        matches!(
            self,
            Self::TooLong { .. } | Self::TooManyAtOnce { .. } | Self::NoTime { .. }
        )
    }
}
