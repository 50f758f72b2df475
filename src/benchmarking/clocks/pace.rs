//! How much time a candidate's repetitions are given.

use std::collections::VecDeque;

use super::{Nanoseconds, RepetitionTimes, Windows, nanoseconds};

/// The first estimate of the time from a plan to its first start: ranks must have received the plan before.
const FIRST_LEAD_SECONDS: f64 = 200e-6;

/// The least and the most of it.
const LEAST_LEAD_SECONDS: f64 = 50e-6;
const MOST_LEAD_SECONDS: f64 = 0.1;

/// A window before anything is known of the candidate.
const FIRST_LENGTH_SECONDS: f64 = 1e-3;

/// In every window, beside what the candidate takes: reading clocks, and waiting.
const PAUSE_SECONDS: f64 = 2e-6;

/// About how long a series lasts, and its most repetitions: a rank that is late in one stays late until it has
/// caught up, or until the next plan, which costs about the lead.
const SERIES_SECONDS: f64 = 500e-6;
const LEAST_CALLS: usize = 4;

/// What something took the last times, and how much time it should therefore be given.
#[derive(Clone, Debug, Default, PartialEq)]
struct Usual {
    seconds: VecDeque<f64>,
}

impl Usual {
    /// The number of latest times that count.
    const MEMORY: usize = 64;

    /// More than nine of ten take; but never more than this multiple of the median: what takes so much
    /// longer was disturbed, and a long wait is the more easily disturbed.
    const ROOM: f64 = 1.5;
    const MOST_MEDIANS: f64 = 8.0;

    fn add(&mut self, seconds: f64) {
        if self.seconds.len() == Self::MEMORY {
            self.seconds.pop_front();
        }
        self.seconds.push_back(seconds);
    }

    fn room_seconds(&self) -> Option<f64> {
        let mut ascending: Vec<f64> = self.seconds.iter().copied().collect();
        ascending.sort_by(f64::total_cmp);
        let most = Self::MOST_MEDIANS * statistics::quantile(&ascending, 0.5)?;
        let usual = Self::ROOM * statistics::quantile(&ascending, 0.9)?;
        Some(usual.min(most))
    }
}

/// How long a candidate's windows must be, by how it kept to earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    lead_seconds: f64,
    length_seconds: f64,
    /// How long plans took to reach the last rank.
    plans: Usual,
    repetitions: Usual,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lead_seconds: FIRST_LEAD_SECONDS,
            length_seconds: FIRST_LENGTH_SECONDS,
            plans: Usual::default(),
            repetitions: Usual::default(),
        }
    }
}

impl Pace {
    /// The next windows, as planned at a global time where clocks may be wrong by so much, and where the last
    /// rank is to arrive so much later than the start.
    pub fn plan(&self, now: Nanoseconds, residual_seconds: f64, latest_seconds: f64) -> Windows {
        let length_seconds = self.length_seconds + 2.0 * residual_seconds + latest_seconds;
        Windows {
            first: now + nanoseconds(self.lead_seconds),
            length: nanoseconds(length_seconds),
        }
    }

    /// The most repetitions that should be planned at a time.
    pub fn most_calls(&self) -> usize {
        ((SERIES_SECONDS / self.length_seconds) as usize).max(LEAST_CALLS)
    }

    /// The longest that a rank waits for a start, unless its clock is wrong.
    pub fn longest_wait(&self, windows: &Windows) -> Nanoseconds {
        2 * windows.length.max(nanoseconds(self.lead_seconds)) + 1_000_000
    }

    /// Learns from a series, as all ranks together saw it.
    pub fn adapt(&mut self, spans: &[RepetitionTimes]) {
        let Some(first) = spans.first() else {
            return;
        };
        self.plans.add(self.lead_seconds + first.ready_seconds);
        for span in spans {
            // A rank that began late has not made the call longer.
            self.repetitions.add(span.end_seconds - span.latest_seconds);
        }
        if let Some(seconds) = self.plans.room_seconds() {
            self.lead_seconds = seconds.clamp(LEAST_LEAD_SECONDS, MOST_LEAD_SECONDS);
        }
        if let Some(seconds) = self.repetitions.room_seconds() {
            self.length_seconds = seconds + PAUSE_SECONDS;
        }
    }
}
