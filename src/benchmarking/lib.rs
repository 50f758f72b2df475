//! The loop that measures, and the rules that it goes by; generic over what carries out a call.
//!
//! [`CellBenchmark`] compares candidates in one cell of one launch. It asks an [`Executor`] for every
//! call: the driver carries them out with MPI, the simulator on simulated time, tests by a script, as
//! hyperfine's executors do with shells. All ranks decide by the same times, those of the slowest rank,
//! and therefore make the same decisions.
//!
//! [`Progress`] says when a candidate has been repeated often enough, [`Race`] which candidates need no
//! further repetitions because another one is faster, [`is_too_slow`] which ones take too long for their
//! cell, and [`batch`] how many calls make a repetition that is long enough for the clock. [`Calls`] are
//! those of a repetition in each [`vocabulary::Pattern`], [`Arrivals`] when ranks arrive where they do not
//! begin together. [`clocks`] builds a global clock from messages, and agreed starts on it.
//!
//! The crate knows no MPI and reads no clock, file or environment.

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

pub use affordable::{is_hopeless, is_too_slow};
pub use arrivals::Arrivals;
pub use calls::{Calls, least_calls};
pub use cell::CellBenchmark;
pub use executor::{Attempt, Executor, KnownTimes};
pub use failure::{Failure, Ranks};
pub use progress::{Progress, has_settled};
pub use race::{EliminatedEntrant, Race, RaceRules, Role};
pub use samples::Samples;

use affordable::is_unaffordable;
