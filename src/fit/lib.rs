//! From raw samples to a machine, decisions and a table.
//!
//! [`summarise`] reduces samples to one [`Summary`] a candidate and cell; [`fit_machine`]
//! estimates the machine's parameters from those of the experiments; [`decide`] compares the
//! candidates of each cell, and [`build_table`] turns its decisions into a [`table::Table`];
//! [`compare_blocks`] sets the pipelining lemma beside the measurements. The same samples give the
//! same results, bit for bit, in whatever order they come. The statistical unit is the launch;
//! times are seconds, sizes bytes.

mod decide;
mod eager;
mod error;
mod estimate;
mod experiments;
mod factors;
mod frame;
mod injection;
mod line;
mod machine;
mod overhead;
mod parameters;
mod prediction;
mod ranking;
mod rules;
mod runs;
mod summary;

pub use decide::{CellDecision, DecideOptions, Verdict, decide};
pub use error::FitError;
pub use estimate::{Estimate, ParameterEstimate, Status};
pub use machine::{MachineFit, fit_machine};
pub use prediction::{BlockComparison, BlockPoint, compare_blocks, predicted_seconds};
pub use ranking::Ranked;
pub use rules::build_table;
pub use statistics;
pub use summary::{CONFIDENCE, Summary, summarise};
