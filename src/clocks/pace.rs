//! How much time a candidate's repetitions are given.

use crate::{Judged, Nanoseconds, Span, Windows, nanoseconds};

/// From a plan to its first start, for a start: ranks must have heard of it before.
const FIRST_LEAD_SECONDS: f64 = 200e-6;

/// The least and the most of it.
const LEAST_LEAD_SECONDS: f64 = 50e-6;
const MOST_LEAD_SECONDS: f64 = 0.1;

/// A window before anything is known of the candidate.
const FIRST_LENGTH_SECONDS: f64 = 1e-3;

/// In every window, beside what the candidate takes: reading clocks, and waiting.
const PAUSE_SECONDS: f64 = 2e-6;

/// How much longer a window is than nine of ten repetitions took.
const LEAST_FACTOR: f64 = 1.5;
const MOST_FACTOR: f64 = 64.0;

/// From this share of invalid repetitions on windows grow, and below that one they shrink.
const TOO_MANY: f64 = 0.125;
const FEW: f64 = 0.02;

/// How long a candidate's windows must be, by how it kept to earlier ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    lead_seconds: f64,
    length_seconds: f64,
    factor: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lead_seconds: FIRST_LEAD_SECONDS,
            length_seconds: FIRST_LENGTH_SECONDS,
            factor: LEAST_FACTOR,
        }
    }
}

impl Pace {
    /// The next windows, as planned at a global time where clocks may be wrong by so much.
    pub fn plan(&self, now: Nanoseconds, residual_seconds: f64) -> Windows {
        Windows {
            first: now + nanoseconds(self.lead_seconds),
            length: nanoseconds(self.length_seconds + 2.0 * residual_seconds),
        }
    }

    /// The longest that a rank waits for a start, unless its clock is wrong.
    pub fn longest_wait(&self, windows: &Windows) -> Nanoseconds {
        2 * windows.length.max(nanoseconds(self.lead_seconds)) + 1_000_000
    }

    /// Learns from a series, as all ranks together saw it.
    pub fn adapt(&mut self, spans: &[Span], judged: &Judged) {
        let Some(first) = spans.first() else {
            return;
        };
        let spare = -first.ready_seconds;
        if first.is_late() {
            self.lead_seconds = (2.0 * (self.lead_seconds - spare)).min(MOST_LEAD_SECONDS);
        } else if spare > self.lead_seconds / 2.0 {
            self.lead_seconds = (0.75 * self.lead_seconds).max(LEAST_LEAD_SECONDS);
        }
        let invalid = judged.invalid.len() as f64 / spans.len() as f64;
        if invalid > TOO_MANY {
            self.factor = (2.0 * self.factor).min(MOST_FACTOR);
        } else if invalid < FEW {
            self.factor = (0.8 * self.factor).max(LEAST_FACTOR);
        }
        // Late ones began when they could.
        let mut taken: Vec<f64> = spans
            .iter()
            .map(|span| match span.is_late() {
                true => span.seconds(),
                false => span.end_seconds,
            })
            .collect();
        taken.sort_by(f64::total_cmp);
        if let Some(usual) = statistics::quantile(&taken, 0.9) {
            self.length_seconds = usual * self.factor + PAUSE_SECONDS;
        }
    }
}
