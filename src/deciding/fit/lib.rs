//! From raw samples to a machine, decisions and a table.
//!
//! - [`summarise_samples`] reduces samples to one [`results::Summary`] per candidate and cell.
//! - [`fit_machine`] estimates the machine's parameters from the experiments, and [`MachineFit::calibrate`] from the
//!   times of candidates; [`score_models`] counts wrong predictions.
//! - [`decide_cells`] compares the candidates of each cell, and [`build_table`] turns its decisions into a
//!   [`table::Table`].
//! - [`compare_blocks`] compares the pipelining lemma with the measurements.
//! - [`fit_curves`] and [`Predictor`] predict times at other sizes and shapes from a candidate's own times.
//! - [`score_held_out_points`] scores decisions at points that were held out.
//!
//! The same samples give the same results, bit for bit, in any order. The statistical unit is the launch; times are in
//! seconds, sizes in bytes.
//!
//! # The machine
//!
//! Small experiments give the parameters of [`fit_machine`]: a line through the ping-pongs of each level, what starting
//! a message costs (bursts), the eager limit (receivers that are late), the port that a node's ranks share (pairs that
//! send at once), combining and copying (`machine.rs` and the modules that it calls). Calibration then fits what
//! experiments do not tell (`calibrate.rs`). A candidate's time is predicted by simulating its own schedule on that
//! machine (`prediction.rs`).
//!
//! # Candidates without a schedule
//!
//! The library's own algorithms and imported ones have no schedule, so their times are all that is known. A [`Curve`]
//! is one candidate's time against size in one shape (`curve.rs`, `segments.rs`); a [`Predictor`] puts curves together
//! (`predictor.rs`).
//!
//! # Decisions
//!
//! Launches explore or confirm ([`vocabulary::Purpose`]), and a store returns the samples of one purpose. Decisions of
//! exploring launches are proposals; what fresh launches do not confirm stays the default (`confirm.rs`). Tables follow
//! from what was measured: beyond measured shapes a model decides only where the campaign asks for it (`extend.rs`).

mod analysis;
mod arrivals;
mod calibrate;
mod confirm;
mod curve;
mod decide;
mod eager;
mod effort;
mod error;
mod evaluate;
mod evidence;
mod expected;
mod experiments;
mod extend;
mod factors;
mod frame;
mod fresh;
mod held_out;
mod injection;
mod joint;
mod line;
mod lines;
mod machine;
mod merged;
mod methods;
mod orders;
mod overhead;
mod pairs;
mod parameters;
mod poor_predictions;
mod power;
mod predicted_blocks;
mod prediction;
mod prediction_cache;
mod predictor;
mod protocols;
mod ranking;
mod redrawn;
mod repetitions;
mod reweighted;
mod rules;
mod runs;
mod scaling;
mod segments;
mod summary;
mod thresholds;
mod verdicts;

pub use analysis::{Analysis, Measurements};
pub use calibrate::Calibration;
pub use confirm::{Confirmation, Exploration, Stake, Trial, range_stake};
pub use curve::{Curve, InsideMethod, Predicted, Segment, TimeOrigin, Timing};
pub use decide::{DecideOptions, can_use_candidate, decide_cells};
pub use effort::ExhaustiveCampaign;
pub use error::FitError;
pub use evaluate::{score_held_out_points, score_table_choices};
pub use evidence::describe_disagreement;
pub use expected::{compare_expected, score_models};
pub use extend::decide_unmeasured_shapes;
pub use fresh::{FreshMeasurements, confirming_launches, launches_with_one_contrary};
pub use machine::{MachineFit, fit_machine};
pub use orders::Orders;
pub use pairs::compare_pairs;
pub use poor_predictions::parameters_hold;
pub use power::{POWER, confirming_power, detectable_gain};
pub use predicted_blocks::predicted_block_bytes;
pub use prediction::{best_blocks, closed_form_seconds, compare_blocks, predicted_seconds};
pub use prediction_cache::PredictionCache;
pub use predictor::{CandidateCurve, PredictionMethod, Predictor, fit_curves};
pub use repetitions::{common_starts, count_unusual_repetitions};
pub use rules::build_table;
pub use summary::summarise_samples;
pub use verdicts::remove_overruled_verdicts;
