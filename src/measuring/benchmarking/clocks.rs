//! A global clock for ranks with separate clocks, and starts at agreed times.
//!
//! An [`Offset`] between two clocks comes from an exchange of messages, a [`Clock`] from offsets over some time
//! ([`ClockLearning`]), and [`synchronisation_rounds`] determines the pairs of ranks that exchange messages.
//! [`Windows`] are the agreed starts of repetitions, [`Pace`] determines their length, and [`judge_series`] finds the
//! repetitions that kept to them.
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

/// A reading of a clock, or a span between two, in nanoseconds. An integer, because a double does not resolve
/// nanoseconds on a clock that has run for years.
pub type Nanoseconds = i64;

pub use clock::Clock;
pub use learning::ClockLearning;
pub use offset::{Exchange, Offset};
pub use pace::Pace;
pub use tree::{ClockPair, synchronisation_rounds};
pub use window::{JudgedSeries, Readings, RepetitionTimes, Windows, judge_series};

/// A span in seconds.
pub fn span_in_seconds(span: Nanoseconds) -> f64 {
    span as f64 * 1e-9
}

/// A span in whole nanoseconds.
pub fn span_in_nanoseconds(seconds: f64) -> Nanoseconds {
    (seconds * 1e9).round() as Nanoseconds
}
