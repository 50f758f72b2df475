//! The measuring loop and its rules, generic over the execution of calls.
//!
//! [`CellBenchmark`] compares candidates in one cell of one launch. An [`Executor`] carries out every call: the driver
//! on MPI, the simulator on simulated time, tests by a script, as hyperfine's executors do with shells. All ranks use
//! the same times, those of the slowest rank, and so make the same decisions.
//!
//! [`Progress`] determines when a candidate has been repeated often enough, [`Race`] eliminates candidates because
//! another one is faster, [`is_too_slow`] finds those that take too long for their cell, and [`batch`] the number of
//! calls for a repetition that is long enough for the clock. [`Calls`] are those of a repetition in each
//! [`vocabulary::Pattern`], [`Arrivals`] the arrivals of ranks at skewed calls. [`clocks`] builds a global clock from
//! messages, and agreed starts on it.
//!
//! [`LaunchSession`] is the launch around it, from the text of the plan to the last record of the [`Spool`].
//!
//! The crate knows no MPI and reads no clock, file or environment; the spool is opened by the program.
//!
//! # What is timed
//!
//! A repetition is one timed block of calls; what that is depends on the pattern of calls (`calls.rs`). Times of
//! different patterns are never compared. Its time is that of the slowest rank, so all ranks see the same times and
//! stop together. How ranks begin a repetition together is the executor's business: a barrier, or agreed times on a
//! global clock (`clocks.rs`).
//!
//! # How candidates take turns
//!
//! Each candidate is called once and its result checked, is warmed up, and is left out if one call takes more than the
//! cell can afford (`admission.rs`). Then candidates take turns (`cell.rs`). One that is certainly slower than the
//! fastest leaves (`race.rs`); calls too short for the clock are timed in batches, and only times of equal batches are
//! compared (`batch.rs`). Candidates are compared within launches: the statistical unit of all decisions is the launch.

mod admission;
mod affordable;
mod arrivals;
pub mod batch;
mod calls;
mod candidates;
mod cell;
pub mod clocks;
mod executor;
mod failure;
mod progress;
mod race;
mod samples;
mod session;
mod spool;

pub use affordable::{is_hopeless, is_too_slow};
pub use arrivals::Arrivals;
pub use calls::{Calls, least_calls};
pub use cell::CellBenchmark;
pub use executor::{Attempt, Executor, KnownTimes};
pub use failure::{Failure, Ranks};
pub use progress::{Progress, has_settled};
pub use race::{EliminatedEntrant, Race, RaceRules, Role};
pub use samples::Samples;
pub use session::{LaunchSession, PlanError, TaskRunner, parse_plan};
pub use spool::{Spool, SpoolError};

use affordable::is_unaffordable;
