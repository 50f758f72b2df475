//! The range of each kind of quantity in files, options and variables, with its reason.
//!
//! Readers refuse other values with the range's `Display`. So all sums of durations, products of sizes and ratios of
//! times computed from them are finite.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};

use crate::units::{format_bytes, format_seconds};

/// The most scratch memory in bytes, on any rank, of an algorithm that knows nodes. One rank of a node may keep the data of all
/// of them: such an algorithm is neither measured nor used for calls that would take more.
pub const MOST_SCRATCH_BYTES: u64 = 4 << 30;

/// The range of a kind of quantity, both ends included.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<T> {
    /// The kind of quantity, with its article.
    what: &'static str,
    least: T,
    most: T,
    show: fn(T) -> String,
    /// The reason for the range.
    reason: &'static str,
}

impl<T: Copy + ToString> Bounds<T> {
    /// A range with ends that are shown as plain numbers.
    const fn plain_numbers(what: &'static str, least: T, most: T, reason: &'static str) -> Self {
        Self {
            what,
            least,
            most,
            show: |value| value.to_string(),
            reason,
        }
    }

    const fn shown_by(self, show: fn(T) -> String) -> Self {
        Self { show, ..self }
    }
}

const DAY_SECONDS: f64 = 86_400.0;

/// Durations given by people, in seconds: budgets, watchdogs, wall times.
pub const DURATION: Bounds<f64> = Bounds::plain_numbers(
    "a duration",
    1e-6,
    366.0 * DAY_SECONDS,
    "no campaign takes longer",
)
.shown_by(|seconds| {
    if seconds < DAY_SECONDS {
        format_seconds(seconds)
    } else {
        format!("{} days", seconds / DAY_SECONDS)
    }
});

/// Measured times, in seconds; also times computed from a machine's parameters.
pub const TIME: Bounds<f64> = Bounds::plain_numbers(
    "a time",
    1e-15,
    1e9,
    "no clock shows less, and no launch lasts longer",
)
.shown_by(|seconds| format!("{seconds:e} s"));

/// Elapsed times, in seconds, which may be 0.
pub const SPAN: Bounds<f64> = Bounds { least: 0.0, ..TIME };

/// The ratio of two times.
pub const SPEEDUP: Bounds<f64> = Bounds::plain_numbers(
    "a number",
    TIME.least / TIME.most,
    TIME.most / TIME.least,
    "it is the ratio of two times",
)
.shown_by(|ratio| format!("{ratio:e}"));

/// A share that may exceed one, such as a tolerance.
pub const SHARE: Bounds<f64> = Bounds::plain_numbers("a share of one", 0.0, 1000.0, "0.05 is 5 %");

/// The length of a message, vector, block or segment.
pub const BYTES: Bounds<u64> =
    Bounds::plain_numbers("a size", 0, 1 << 50, "no machine has more memory")
        .shown_by(format_bytes);

/// Ranks, on a node or in total.
pub const RANKS: Bounds<u32> = Bounds::plain_numbers(
    "a number of ranks",
    1,
    i32::MAX as u32,
    "MPI numbers ranks with 31 bits",
);

/// Nodes.
pub const NODES: Bounds<u32> = Bounds {
    what: "a number of nodes",
    ..RANKS
};

/// Repetitions of a candidate in a launch.
pub const REPETITIONS: Bounds<u32> =
    Bounds::plain_numbers("a whole number", 1, 1_000_000, "the time of each is kept");

/// Seconds to start a message.
pub const LATENCY: Bounds<f64> = Bounds::plain_numbers(
    "seconds a message",
    0.0,
    1000.0,
    "messages of no machine take longer to start",
);

/// Seconds per byte: of sending, combining, copying.
pub const BYTE_TIME: Bounds<f64> = Bounds::plain_numbers(
    "seconds a byte",
    0.0,
    1.0,
    "no machine takes longer for a byte",
);

/// The standard deviation of the logarithm of a disturbed time.
pub const JITTER: Bounds<f64> = Bounds::plain_numbers(
    "a standard deviation of logarithms",
    0.0,
    3.0,
    "with 3 it is common that times differ by a factor of 20",
);

/// The factor on a disturbed time.
pub const SLOWDOWN: Bounds<f64> =
    Bounds::plain_numbers("a factor", 0.0, 1e6, "a call that is slower does not end");

/// The factor on a time in other circumstances.
pub const FACTOR: Bounds<f64> =
    Bounds::plain_numbers("a factor", 0.01, 100.0, "1 is no difference");

/// The capacity of caches in bytes.
pub const CAPACITY: Bounds<f64> =
    Bounds::plain_numbers("a number of bytes", 1.0, 1e15, "no machine has more memory");

/// A probability.
pub const PROBABILITY: Bounds<f64> =
    Bounds::plain_numbers("a probability", 0.0, 1.0, "1 is always");

impl<T: PartialEq> PartialEq for Bounds<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.what, &self.least, &self.most) == (other.what, &other.least, &other.most)
    }
}

impl<T: Copy + PartialOrd> Bounds<T> {
    /// Whether a value is within the range; NaN is not.
    pub fn contains(&self, value: T) -> bool {
        self.least <= value && value <= self.most
    }

    /// The value, if it is within the range.
    pub fn if_within(&self, value: T) -> Option<T> {
        self.contains(value).then_some(value)
    }

    /// The largest value.
    pub const fn largest_value(&self) -> T {
        self.most
    }
}

impl Bounds<f64> {
    /// The value in the range that is nearest to another one.
    pub fn nearest_value(&self, value: f64) -> f64 {
        value.clamp(self.least, self.most)
    }

    /// Whether a value is within the range or 0, for times that may be 0.
    pub fn contains_or_zero(&self, value: f64) -> bool {
        value == 0.0 || self.contains(value)
    }
}

/// Displays bounds, as in `a duration from 1.00 us to 366 days (no campaign takes longer)`.
impl<T: Copy> fmt::Display for Bounds<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [least, most] = [self.least, self.most].map(self.show);
        let Self { what, reason, .. } = self;
        write!(f, "{what} from {least} to {most} ({reason})")
    }
}

/// Reads an elapsed time within [`SPAN`], for `#[serde(deserialize_with = "...")]`.
///
/// # Errors
/// A number out of range.
pub fn span<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked_span(f64::deserialize(from)?)
}

/// As [`span`] for a field that may be absent, which also needs `default`.
///
/// # Errors
/// A number out of range.
pub fn optional_span<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(from)?.map(checked_span).transpose()
}

fn checked_span<E: Error>(seconds: f64) -> Result<f64, E> {
    let refused = || E::custom(format!("{seconds:e} s is not {SPAN}"));
    SPAN.if_within(seconds).ok_or_else(refused)
}

/// Reads times that are each 0 or within [`TIME`].
///
/// # Errors
/// A number out of range.
pub fn times<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let times: Vec<f64> = Vec::deserialize(from)?;
    let wrong = times
        .iter()
        .find(|seconds| !TIME.contains_or_zero(**seconds));
    match wrong {
        None => Ok(times),
        Some(seconds) => Err(D::Error::custom(format!("{seconds:e} s is not {TIME}"))),
    }
}

/// Reads a size within [`BYTES`].
///
/// # Errors
/// A number out of range.
pub fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let bytes = u64::deserialize(from)?;
    let refused = || D::Error::custom(format!("{bytes} is not {BYTES}"));
    BYTES.if_within(bytes).ok_or_else(refused)
}
