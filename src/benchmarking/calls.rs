//! What a repetition consists of.

use vocabulary::Pattern;

use crate::arrivals;

/// The calls of a repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Calls {
    /// So many from a common start, timed together: until the slowest rank has done them.
    Together(u32),
    /// From a common start some that are not timed, then `timed` ones: the slowest rank's own time for
    /// these. Nothing keeps ranks together between calls.
    Repeated {
        /// Calls before those that are timed, which bring the ranks into a steady state.
        before: u32,
        /// Calls that are timed.
        timed: u32,
    },
    /// One, at which ranks arrive at different times: from the last one's arrival to the last one's end.
    /// [`crate::Arrivals`] says when each arrives.
    Skewed {
        /// How much later than the start the last rank may arrive, in seconds.
        longest_seconds: f64,
        /// The place of the first repetition among all skewed calls of the candidate.
        first: usize,
    },
}

impl Calls {
    /// A block of `timed` calls in steady state; an eighth as many come before.
    pub(crate) fn block(timed: u32) -> Self {
        let before = (timed / 8).max(1);
        Self::Repeated { before, timed }
    }

    /// The pattern in which they follow each other.
    pub fn pattern(self) -> Pattern {
        match self {
            Self::Together(_) => Pattern::Together,
            Self::Repeated { .. } => Pattern::Repeated,
            Self::Skewed { .. } => Pattern::Skewed,
        }
    }

    /// Calls that are not timed, and come first.
    pub fn before(self) -> u32 {
        match self {
            Self::Repeated { before, .. } => before,
            Self::Together(_) | Self::Skewed { .. } => 0,
        }
    }

    /// Calls that are timed together.
    pub fn timed(self) -> u32 {
        match self {
            Self::Together(timed) | Self::Repeated { timed, .. } => timed,
            Self::Skewed { .. } => 1,
        }
    }

    /// How much later than the start the last rank may arrive, in seconds.
    pub fn latest_seconds(self) -> f64 {
        match self {
            Self::Skewed {
                longest_seconds, ..
            } => longest_seconds,
            Self::Together(_) | Self::Repeated { .. } => 0.0,
        }
    }

    /// How many starts make a repetition: skewed calls are repeated with each order of arrival.
    pub(crate) fn starts(self) -> usize {
        match self {
            Self::Together(_) | Self::Repeated { .. } => 1,
            Self::Skewed { .. } => arrivals::ORDERS,
        }
    }

    /// All calls of a repetition.
    pub(crate) fn all(self) -> u32 {
        self.starts() as u32 * (self.before() + self.timed())
    }

    /// Those of a repetition by which its time is divided: what is recorded as its batch.
    pub(crate) fn batch(self) -> u32 {
        self.starts() as u32 * self.timed()
    }

    /// The same after so many repetitions.
    pub(crate) fn after(self, repetitions: usize) -> Self {
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
