//! Times that add up exactly.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A length of time in whole nanoseconds, so that sums do not depend on the order. In files and for people, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u128);

const PER_SECOND: f64 = 1e9;

/// The most seconds in a file, and of a sum: more than all computers together could record.
const MOST_SECONDS: f64 = 1e18;
const MOST_NANOSECONDS: u128 = 1_000_000_000_000_000_000 * 1_000_000_000;

impl Time {
    /// A length of time.
    #[must_use]
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds as u128)
    }

    /// The time in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PER_SECOND
    }

    /// Whether it is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The part that a time is of another one; 0 of nothing.
    #[must_use]
    pub fn share_of(self, whole: Self) -> f64 {
        if whole.is_zero() {
            0.0
        } else {
            self.0 as f64 / whole.0 as f64
        }
    }
}

impl Add for Time {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        // So that every sum can be written and read; neither exceeds the bound before.
        Self((self.0 + other.0).min(MOST_NANOSECONDS))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.seconds())
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.seconds())
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(from)?;
        if (0.0..=MOST_SECONDS).contains(&seconds) {
            let nanoseconds = (seconds * PER_SECOND).round() as u128;
            Ok(Self(nanoseconds.min(MOST_NANOSECONDS)))
        } else {
            Err(D::Error::custom(format!(
                "{seconds} is no time in seconds from 0 to {MOST_SECONDS:e}"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Time;

    #[test]
    fn sums_of_the_longest_times_can_be_read_again() {
        let longest: Time = serde_json::from_str("1e18").expect("a time");
        let sum = longest + longest + Time::from_nanoseconds(1);
        let text = serde_json::to_string(&sum).expect("a text");
        assert_eq!(serde_json::from_str::<Time>(&text).expect("a time"), sum);
        assert!(serde_json::from_str::<Time>("1.1e18").is_err());
    }
}
