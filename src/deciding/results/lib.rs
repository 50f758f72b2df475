//! Results of the analysis of samples: summaries, decisions, machine parameters, scores.
//!
//! The crate `fit` computes these values; `report` and the command line show them. Times are in seconds, sizes in
//! bytes.

mod blocks;
mod decision;
mod evidence;
mod expected;
mod measuring;
mod pairs;
mod parameter;
mod poor_prediction;
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
    DetectableGain, Effort, MeasuringCost, OFTEN_INVALID, OftenInvalid, Races, RepetitionCounts,
    Starts,
};
pub use pairs::{Pair, Pairs};
pub use parameter::{Estimate, ParameterEstimate, ProtocolSegment, Status};
pub use poor_prediction::{PoorPrediction, Timed};
pub use scores::{Common, HeldOut, Loss, Method, Reason, Score, SplitScores, WITHIN, Worst};
pub use summary::{Counts, Summary};

/// A cell without its datatype and operator, for output.
#[derive(JsonSchema, Serialize)]
pub(crate) struct CellPlace {
    /// The collective.
    #[schemars(schema_with = "vocabulary::collective_name::list_in_schema")]
    collective: &'static str,
    #[serde(flatten)]
    shape: CommShape,
    /// Size of the call in bytes.
    bytes: u64,
}

pub(crate) fn serialize_place<S: Serializer>(cell: &Cell, to: S) -> Result<S::Ok, S::Error> {
    let parts = CellPlace {
        collective: cell.collective.name(),
        shape: cell.shape,
        bytes: cell.bytes,
    };
    parts.serialize(to)
}

/// Serializes a value as the text that it displays.
///
/// # Errors
/// The serializer's own.
pub fn by_name<S: Serializer>(value: &impl Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}
