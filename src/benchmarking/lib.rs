//! The loop that measures, and the rules that it goes by; generic over what carries out a call.
//!
//! [`CellBenchmark`] compares candidates in one cell of one launch. It asks an [`Executor`] for every
//! call: the driver carries them out with MPI, the simulator on simulated time, tests by a script, as
//! hyperfine's executors do with shells. What all ranks know of the times decides, so all ranks decide
//! alike.
//!
//! [`Progress`] knows when one candidate has been repeated often enough, [`Race`] which of several
//! need not be repeated any further because another is faster, [`is_too_slow`] whom a cell cannot afford
//! at all, and [`batch`] how many calls make a repetition that the clock can tell from another. [`clocks`]
//! holds a global clock from messages, and starts that are agreed upon on it.
//!
//! Pure: knows no MPI, reads no clock, file or environment.

mod admission;
mod affordable;
pub mod batch;
mod candidates;
mod cell;
pub mod clocks;
mod executor;
mod failure;
mod progress;
mod race;
mod samples;

pub use affordable::{is_hopeless, is_too_slow};
pub use cell::CellBenchmark;
pub use executor::{Attempt, Executor, KnownTimes};
pub use failure::{Failure, Ranks};
pub use progress::{Progress, has_settled};
pub use race::{Leaver, Race, RaceRules, Role, Saved};
pub use samples::Samples;

use affordable::is_unaffordable;
