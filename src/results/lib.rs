//! What is found in samples, as it is shown: summaries, decisions, parameters of the machine, scores.
//!
//! The crate `fit` makes these values; `report` and the command line show them, and need nothing of how
//! they are found. Times are seconds, sizes bytes.

mod blocks;
mod decision;
mod parameter;
mod scores;
mod summary;

pub use blocks::{BlockComparison, BlockPoint};
pub use decision::{CellDecision, Ranked, Verdict};
pub use parameter::{Estimate, ParameterEstimate, ProtocolSegment, Status};
pub use scores::{HeldOut, Method, Score, SplitScores, WITHIN, Worst};
pub use summary::{CONFIDENCE, Counts, Summary};
