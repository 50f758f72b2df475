//! What a campaign measures next: a pure function of the campaign, of what earlier launches have left, and of the time
//! that remains.
//!
//! ```text
//! History      what earlier launches have left: samples, failures, undone tasks, time spent
//! Agenda       everything that the campaign measures, and what is left of it
//! NextStep     the next launch; or nothing is left, or no time for it
//! Forecast     how much is left, and how long it takes
//! LeastBudgets the budgets that the campaign needs at least
//! ```
//!
//! Nothing here is kept from one launch to the next: a command that is killed at any moment computes the same agenda
//! from what it had stored. Only [`LatestFit`] is a memory, of predictions that would be made again.
//!
//! # How an agenda is made
//!
//! 1. The machine is fitted to the experiments (`machine.rs`); block sizes are predicted with it. Experiments are made
//!    alone, in the first launch, since the block sizes to try follow from them.
//! 2. The [`CampaignScope`] has all cells with all candidates (`scope.rs`). An exhaustive campaign measures all of that
//!    in each launch; in a guided one the [`search`] asks for what may still change a decision (`guided.rs`).
//! 3. Once nothing is left to explore, or no time for it, choices are confirmed in further launches: those with most at
//!    stake, if time does not suffice for all (`confirming.rs`).
//! 4. A launch measures all items that were measured least often (`remaining.rs`). What it may take follows from the
//!    rest of the budget (`spending.rs`, `next_launch.rs`).

mod agenda;
mod confirming;
mod coverage;
mod forecast;
mod guided;
mod history;
mod least_budgets;
mod machine;
mod next_launch;
mod remaining;
mod scope;
pub mod search;
mod spending;

pub use self::agenda::Agenda;
pub use confirming::{confirming_samples, confirms_choices, decide_options};
pub use forecast::Forecast;
pub use history::{ConfirmedPattern, History, SpentTime};
pub use least_budgets::{ExpectedMachine, ExpectedTimes, LeastBudgets, least_budgets};
pub use machine::{LatestFit, fitted_machine};
pub use next_launch::{NextLaunch, NextStep, has_separate_jobs};
pub use scope::{CampaignScope, Merged};
pub use spending::{LITTLE_BUDGET_SECONDS, launching_seconds, spent_seconds, unspent_seconds};
