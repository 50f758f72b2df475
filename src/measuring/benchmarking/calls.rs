//! The calls of a repetition.
//!
//! - *Together*: a common start, then one call, or several if one is too short for the clock.
//! - *Repeated*: a start, calls that bring the ranks into a steady state, then a block that each rank times by itself;
//!   the slowest rank's time counts.
//! - *Skewed*: three calls, each with a start on the global clock and an order of arrival (`arrivals.rs`), timed from
//!   the last arrival.
//! - *Nonblocking*: as together, each call started and waited for at once.
//! - *Overlapped*: the same with computation between start and wait, whose own time is not counted. It takes as long as a
//!   call of the fastest candidate that is waited for at once, in all candidates alike.

use statistics::clock::ClockResolution;
use vocabulary::Pattern;

use crate::{arrivals, batch};

/// The fewest blocks of repeated calls; each is already a mean of many calls.
const LEAST_BLOCKS: u32 = 3;

/// The fewest repetitions of warm-up.
const LEAST_WARMUP: u32 = 2;

/// The approximate least number of calls of a candidate in a launch, warm-up included, if a call takes about
/// `call_seconds` and at least `minimum` repetitions are requested, for any slice.
pub fn least_calls(pattern: Pattern, call_seconds: f64, minimum: u32) -> u32 {
    let calls = match pattern {
        Pattern::Together => Calls::Together(1),
        Pattern::Repeated => {
            let clock = ClockResolution {
                overhead_seconds: 0.0,
                resolution_seconds: 0.0,
            };
            Calls::steady_block(batch::calls_per_block(
                call_seconds,
                call_seconds,
                f64::INFINITY,
                &clock,
            ))
        }
        Pattern::Skewed => Calls::Skewed {
            longest_seconds: call_seconds,
            first: 0,
        },
        Pattern::Nonblocking => Calls::Nonblocking(1),
        Pattern::Overlapped => Calls::Overlapped {
            calls: 1,
            computing_seconds: call_seconds,
        },
    };
    (calls.least_repetitions(minimum) + LEAST_WARMUP) * calls.calls_per_repetition()
}

/// The calls of a repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Calls {
    /// This number of calls from a common start, timed together until the slowest rank has finished.
    Together(u32),
    /// A common start, some untimed calls, then `timed` calls, for which each rank measures its own time; the slowest
    /// rank's counts. Nothing synchronises ranks between the calls.
    Repeated {
        /// Calls before the timed ones, which bring the ranks into a steady state.
        before: u32,
        /// Calls that are timed.
        timed: u32,
    },
    /// One call, at which ranks arrive at different times, timed from the last arrival to the last end.
    /// [`crate::Arrivals`] gives the arrivals.
    Skewed {
        /// The latest arrival of the last rank after the start, in seconds.
        longest_seconds: f64,
        /// The index of the first repetition among all skewed calls of the candidate.
        first: usize,
    },
    /// This number of nonblocking calls from a common start, each waited for at once, timed together until the slowest rank
    /// has finished.
    Nonblocking(u32),
    /// The same with computation in each call between start and wait, of which the time is subtracted.
    Overlapped {
        /// The number of calls.
        calls: u32,
        /// The time of the computation beside each, in seconds.
        computing_seconds: f64,
    },
}

impl Calls {
    /// A block of `timed` calls in steady state, after an eighth as many untimed calls.
    pub(crate) fn steady_block(timed: u32) -> Self {
        let before = (timed / 8).max(1);
        Self::Repeated { before, timed }
    }

    /// The pattern of the calls.
    pub fn pattern(self) -> Pattern {
        match self {
            Self::Together(_) => Pattern::Together,
            Self::Repeated { .. } => Pattern::Repeated,
            Self::Skewed { .. } => Pattern::Skewed,
            Self::Nonblocking(_) => Pattern::Nonblocking,
            Self::Overlapped { .. } => Pattern::Overlapped,
        }
    }

    /// The untimed calls before the others.
    pub fn untimed_calls(self) -> u32 {
        match self {
            Self::Repeated { before, .. } => before,
            Self::Together(_)
            | Self::Skewed { .. }
            | Self::Nonblocking(_)
            | Self::Overlapped { .. } => 0,
        }
    }

    /// The calls that are timed together.
    pub fn timed_calls(self) -> u32 {
        match self {
            Self::Together(timed)
            | Self::Repeated { timed, .. }
            | Self::Nonblocking(timed)
            | Self::Overlapped { calls: timed, .. } => timed,
            Self::Skewed { .. } => 1,
        }
    }

    /// The latest arrival of the last rank after the start, in seconds.
    pub fn latest_seconds(self) -> f64 {
        match self {
            Self::Skewed {
                longest_seconds, ..
            } => longest_seconds,
            Self::Together(_)
            | Self::Repeated { .. }
            | Self::Nonblocking(_)
            | Self::Overlapped { .. } => 0.0,
        }
    }

    /// The time of the computation beside each call, in seconds.
    pub fn computing_seconds(self) -> f64 {
        match self {
            Self::Overlapped {
                computing_seconds, ..
            } => computing_seconds,
            Self::Together(_)
            | Self::Repeated { .. }
            | Self::Skewed { .. }
            | Self::Nonblocking(_) => 0.0,
        }
    }

    /// The number of starts in a repetition: a skewed call is made once with each order of arrival.
    pub(crate) fn starts_per_repetition(self) -> usize {
        match self {
            Self::Skewed { .. } => arrivals::ORDERS,
            Self::Together(_)
            | Self::Repeated { .. }
            | Self::Nonblocking(_)
            | Self::Overlapped { .. } => 1,
        }
    }

    /// All calls of a repetition.
    pub(crate) fn calls_per_repetition(self) -> u32 {
        self.starts_per_repetition() as u32 * (self.untimed_calls() + self.timed_calls())
    }

    /// The number by which the time of a repetition is divided, which is recorded as its batch.
    pub(crate) fn recorded_batch(self) -> u32 {
        self.starts_per_repetition() as u32 * self.timed_calls()
    }

    /// The fewest repetitions, if a single call is to be repeated `minimum` times.
    pub(crate) fn least_repetitions(self, minimum: u32) -> u32 {
        match self {
            Self::Repeated { .. } => minimum.min(LEAST_BLOCKS),
            Self::Together(_)
            | Self::Skewed { .. }
            | Self::Nonblocking(_)
            | Self::Overlapped { .. } => minimum,
        }
    }

    /// The calls of the repetition after `repetitions` others.
    pub(crate) fn after_repetitions(self, repetitions: usize) -> Self {
        match self {
            Self::Skewed {
                longest_seconds,
                first,
            } => Self::Skewed {
                longest_seconds,
                first: first + arrivals::ORDERS * repetitions,
            },
            _ => self,
        }
    }
}
