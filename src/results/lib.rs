//! What is found in samples, as it is shown: summaries, decisions, parameters of the machine, scores.
//!
//! The crate `fit` makes these values; `report` and the command line show them, and need nothing of how
//! they are found. Times are seconds, sizes bytes.

mod blocks;
mod decision;
mod evidence;
mod expected;
mod measuring;
mod misfit;
mod pairs;
mod parameter;
mod scores;
mod summary;

use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use vocabulary::{Cell, CommShape};

pub use blocks::{BlockComparison, BlockPoint};
pub use decision::{CellDecision, Ranked, Verdict};
pub use evidence::{Evidence, Explanation};
pub use expected::{Expected, ModelCurve, ModelKind, ModelScore};
pub use measuring::{
    Effort, MeasuringCost, OFTEN_INVALID, OftenInvalid, Races, RepetitionCounts, Starts,
};
pub use misfit::{Misfit, Timed};
pub use pairs::{Pair, Pairs};
pub use parameter::{Estimate, ParameterEstimate, ProtocolSegment, Status};
pub use scores::{Common, HeldOut, Loss, Method, Reason, Score, SplitScores, WITHIN, Worst};
pub use summary::{CONFIDENCE, Counts, Summary};

/// Where something was measured, of a cell whose datatype and operator need not be told.
#[derive(JsonSchema, Serialize)]
pub(crate) struct At {
    /// The collective.
    collective: &'static str,
    #[serde(flatten)]
    shape: CommShape,
    /// Size of the call in bytes.
    bytes: u64,
}

pub(crate) fn at<S: Serializer>(cell: &Cell, to: S) -> Result<S::Ok, S::Error> {
    let parts = At {
        collective: cell.collective.name(),
        shape: cell.shape,
        bytes: cell.bytes,
    };
    parts.serialize(to)
}

/// What is shown to programs by its name.
pub(crate) fn by_name<S: Serializer>(value: &impl Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}
