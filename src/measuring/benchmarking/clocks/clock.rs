//! A clock as a linear function of another one.

use super::{Nanoseconds, Offset, span_in_seconds};

/// The assumed largest error of the drift, in standard errors of the slope.
const STANDARD_ERRORS: f64 = 3.0;

/// The approximate resolution of clock readings.
const STEP_SECONDS: f64 = 20e-9;

/// The least deviation that counts, in addition to the uncertainty of a round trip.
const TOLERANCE_SECONDS: f64 = 0.5e-6;

/// The global time as a function of the local one: `local + offset + drift (local - anchor)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    anchor: Nanoseconds,
    offset: Nanoseconds,
    drift: f64,
    offset_error_seconds: f64,
    drift_error: f64,
}

impl Clock {
    /// The global clock itself.
    pub const GLOBAL: Self = Self {
        anchor: 0,
        offset: 0,
        drift: 0.0,
        offset_error_seconds: 0.0,
        drift_error: 0.0,
    };

    /// A clock that was always found to equal the other one, as within a node, by messages of such a half round trip.
    pub fn shared_with(with: &Offset) -> Self {
        Self {
            anchor: with.at,
            offset_error_seconds: span_in_seconds(with.half_round_trip),
            ..Self::GLOBAL
        }
    }

    /// The line through offsets over some time, each the best of a batch; `None` without offsets, no drift with one.
    ///
    /// Least squares, weighted with the inverse square of the round trip, since a batch that was disturbed throughout
    /// is inaccurate.
    pub fn fit_line(offsets: &[Offset]) -> Option<Self> {
        let first = offsets.first()?;
        let shortest = offsets.iter().map(|offset| offset.half_round_trip).min()?;
        let points: Vec<[f64; 3]> = offsets
            .iter()
            .map(|found| {
                let x = span_in_seconds(found.at - first.at);
                let y = span_in_seconds(found.offset - first.offset);
                let relative = found.half_round_trip.max(1) as f64 / shortest.max(1) as f64;
                [x, y, relative.powi(-2)]
            })
            .collect();
        let total: f64 = points.iter().map(|[_, _, weight]| weight).sum();
        let mean = |of: &dyn Fn(&[f64; 3]) -> f64| -> f64 {
            points.iter().map(|point| of(point) * point[2]).sum::<f64>() / total
        };
        let (center, level) = (mean(&|point| point[0]), mean(&|point| point[1]));
        let spread = mean(&|point| (point[0] - center).powi(2));
        let joint = mean(&|point| (point[0] - center) * (point[1] - level));
        let drift = if spread > 0.0 { joint / spread } else { 0.0 };
        let deviation = mean(&|p| (p[1] - level - drift * (p[0] - center)).powi(2))
            .sqrt()
            .max(STEP_SECONDS);
        let drift_error = if spread > 0.0 {
            STANDARD_ERRORS * deviation / (spread * points.len() as f64).sqrt()
        } else {
            f64::INFINITY
        };
        Some(Self {
            anchor: first.at + super::span_in_nanoseconds(center),
            offset: first.offset + super::span_in_nanoseconds(level),
            drift,
            offset_error_seconds: span_in_seconds(shortest) + deviation,
            drift_error,
        })
    }

    /// The composition of this clock with the clock that it takes as global time: for a rank that synchronised with one
    /// that had synchronised before. Errors add up.
    pub fn composed_with(&self, other: &Self) -> Self {
        let between = self.global_time(self.anchor);
        Self {
            anchor: self.anchor,
            offset: other.global_time(between) - self.anchor,
            drift: (1.0 + self.drift) * (1.0 + other.drift) - 1.0,
            offset_error_seconds: self.offset_error_seconds + other.error_seconds(between),
            drift_error: self.drift_error + other.drift_error,
        }
    }

    /// The global time at a local one.
    pub fn global_time(&self, local: Nanoseconds) -> Nanoseconds {
        let since = (local - self.anchor) as f64;
        local + self.offset + (self.drift * since).round() as Nanoseconds
    }

    /// The local time at a global one.
    pub fn local_time(&self, global: Nanoseconds) -> Nanoseconds {
        let since = (global - self.offset - self.anchor) as f64;
        self.anchor + (since / (1.0 + self.drift)).round() as Nanoseconds
    }

    /// The global time minus the local one at a local time, in seconds.
    pub fn offset_seconds(&self, local: Nanoseconds) -> f64 {
        span_in_seconds(self.global_time(local) - local)
    }

    /// Seconds that the global clock gains per second.
    pub fn drift(&self) -> f64 {
        self.drift
    }

    /// The largest error of [`Clock::drift`].
    pub fn drift_error(&self) -> f64 {
        self.drift_error
    }

    /// The largest error of the global time at a local one, according to the synchronisation.
    pub fn error_seconds(&self, local: Nanoseconds) -> f64 {
        let age_seconds = span_in_seconds(local - self.anchor).abs();
        // At the anchor, an unknown drift has no effect yet.
        let growth = if age_seconds > 0.0 {
            self.drift_error * age_seconds
        } else {
            0.0
        };
        self.offset_error_seconds + growth
    }

    /// The difference between this clock and a fresh offset to the global time, in seconds.
    pub fn disagreement_seconds(&self, fresh: &Offset) -> f64 {
        span_in_seconds(self.global_time(fresh.at) - fresh.at - fresh.offset).abs()
    }

    /// The largest error of the global time, in seconds, if a fresh offset to it is right.
    pub fn residual_seconds(&self, fresh: &Offset) -> f64 {
        self.disagreement_seconds(fresh) + span_in_seconds(fresh.half_round_trip)
    }

    /// Whether a fresh offset to the global time shows that the clock must be synchronised again: they disagree by more
    /// than the uncertainty of the round trip, and by a relevant amount. The error of the other clock, in seconds, is
    /// not attributed to this one.
    pub fn is_stale(&self, fresh: &Offset, asked_error_seconds: f64) -> bool {
        self.disagreement_seconds(fresh)
            > span_in_seconds(fresh.half_round_trip) + TOLERANCE_SECONDS + asked_error_seconds
    }

    /// Whether a clock with this error of its drift must be checked again, as this much time has passed since it was
    /// last found right.
    pub fn may_have_gone_astray(drift_error: f64, age_seconds: f64) -> bool {
        age_seconds > 0.0 && drift_error * age_seconds > TOLERANCE_SECONDS
    }

    /// Encodes the clock as a message.
    pub fn to_bytes(&self) -> [u8; 40] {
        let words = [
            self.anchor.to_le_bytes(),
            self.offset.to_le_bytes(),
            self.drift.to_le_bytes(),
            self.offset_error_seconds.to_le_bytes(),
            self.drift_error.to_le_bytes(),
        ];
        let mut bytes = [0; 40];
        bytes.copy_from_slice(words.as_flattened());
        bytes
    }

    /// Decodes a message.
    pub fn from_bytes(bytes: &[u8; 40]) -> Self {
        let (words, _) = bytes.as_chunks();
        Self {
            anchor: Nanoseconds::from_le_bytes(words[0]),
            offset: Nanoseconds::from_le_bytes(words[1]),
            drift: f64::from_le_bytes(words[2]),
            offset_error_seconds: f64::from_le_bytes(words[3]),
            drift_error: f64::from_le_bytes(words[4]),
        }
    }
}
