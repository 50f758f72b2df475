//! Reports: what was measured, fitted and decided, for people.
//!
//! A [`View`] holds the content and knows nothing of how it looks; whoever has a store and a fit
//! builds it. [`render_markdown`] lays it out, [`render_summary`] gives the few lines that a
//! terminal has room for. Both are pure: the same view gives the same text.

mod expected;
mod grid;
mod markdown;
mod measuring;
mod pairs;
mod placement;
mod repetitions;
mod summary;
mod text;
mod view;

pub use markdown::render_markdown;
pub use repetitions::{OFTEN_INVALID, OftenInvalid, Repetitions};
pub use summary::render_summary;
pub use view::{
    Best, BlockRow, Comparison, Estimate, Expected, Failure, MachineParameter, MeasuringCost,
    ModelCurve, Pair, Pairs, Ratio, SearchCost, SizeRow, Starts, Unit, Verdict, View,
};
