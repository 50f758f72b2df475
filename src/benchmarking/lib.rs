//! How often a candidate is called before its time is known well enough, in which portions, and how
//! ranks come to common starts.
//!
//! [`Progress`] knows when one candidate has been repeated often enough, [`Race`] which of several
//! need not be repeated any further because another is faster, [`is_too_slow`] whom a cell cannot afford
//! at all, and [`batch`] how many calls make a repetition that the clock can tell from another. [`clocks`]
//! holds a global clock from messages, and starts that are agreed upon on it.
//!
//! Pure: what all ranks know of the times decides, so all ranks decide alike; and what stands in for
//! MPI, such as the simulated machine, samples as the real one does.

mod affordable;
pub mod batch;
mod candidates;
pub mod clocks;
mod progress;
mod race;

pub use affordable::{is_hopeless, is_too_slow, is_unaffordable, too_slow};
pub use progress::{Progress, has_settled};
pub use race::{Leaver, Race, RaceRules, Role, Saved};
