//! A global clock for ranks that each have one of their own, and starts that are agreed upon on it.
//!
//! An [`Offset`] between two clocks comes from messages there and back, a [`Clock`] from offsets over
//! some time ([`Learning`]), and [`rounds`] says who learns from whom. [`Windows`] are the agreed starts of
//! repetitions, a [`Pace`] how long they must be, and [`judge`] which repetitions kept to them.
//!
//! After Hunold and Carpen-Amarie 2018, "Hierarchical clock synchronization in MPI" (HCA3), and the
//! windows of their ReproMPI (2016, "Reproducible MPI benchmarking is still not as easy as you
//! think"). Pure: reads no clock and sends nothing.

mod clock;
mod learning;
mod offset;
mod pace;
mod tree;
mod window;

/// A reading of a clock, or a span between two, in nanoseconds. As integers, because a clock that has
/// run for years has no nanoseconds left in a double.
pub type Nanoseconds = i64;

pub use clock::Clock;
pub use learning::Learning;
pub use offset::{Exchange, Offset};
pub use pace::Pace;
pub use tree::{Lesson, rounds};
pub use window::{Judged, Readings, RepetitionTimes, Windows, judge};

/// A span in seconds.
pub fn seconds(span: Nanoseconds) -> f64 {
    span as f64 * 1e-9
}

/// A span in whole nanoseconds.
pub fn nanoseconds(seconds: f64) -> Nanoseconds {
    (seconds * 1e9).round() as Nanoseconds
}
