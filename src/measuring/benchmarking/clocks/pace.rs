//! The length of the windows for a candidate's repetitions.

use std::collections::VecDeque;

use super::{Nanoseconds, RepetitionTimes, Windows, span_in_nanoseconds};

/// The first estimate of the time from a plan to its first start, before which all ranks must have the plan.
const FIRST_LEAD_SECONDS: f64 = 200e-6;

/// The least and the largest estimate.
const LEAST_LEAD_SECONDS: f64 = 50e-6;
const MOST_LEAD_SECONDS: f64 = 0.1;

/// The length of a window without any knowledge of the candidate.
const FIRST_LENGTH_SECONDS: f64 = 1e-3;

/// The part of every window for reading clocks and waiting.
const PAUSE_SECONDS: f64 = 2e-6;

/// The approximate length of a series, and its least number of repetitions. A rank that is late in one repetition stays
/// late until it has caught up, or until the next plan, which costs about the lead.
const SERIES_SECONDS: f64 = 500e-6;
const LEAST_CALLS: usize = 4;

/// A series of which more than one part in this number is invalid is followed by shorter ones, and one of which at most
/// one part in the second number is invalid by longer ones.
const SHORTENING_PART: usize = 2;
const LENGTHENING_PART: usize = 4;

/// The latest times of an operation, and the time to allow for the next one.
#[derive(Clone, Debug, Default, PartialEq)]
struct RecentTimes {
    seconds: VecDeque<f64>,
}

impl RecentTimes {
    /// The number of latest times that count.
    const MEMORY: usize = 64;

    /// The allowance as a multiple of the 90th percentile of the recent times.
    const ALLOWANCE: f64 = 1.5;
    /// The largest allowance as a multiple of their median. Longer times are disturbances, which a long wait makes more
    /// likely.
    const MOST_MEDIANS: f64 = 8.0;

    fn add_time(&mut self, seconds: f64) {
        if self.seconds.len() == Self::MEMORY {
            self.seconds.pop_front();
        }
        self.seconds.push_back(seconds);
    }

    fn allowance_seconds(&self) -> Option<f64> {
        let mut ascending: Vec<f64> = self.seconds.iter().copied().collect();
        ascending.sort_by(f64::total_cmp);
        let most = Self::MOST_MEDIANS * statistics::quantile(&ascending, 0.5)?;
        let allowance = Self::ALLOWANCE * statistics::quantile(&ascending, 0.9)?;
        Some(allowance.min(most))
    }
}

/// The length of a candidate's windows, adapted to earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    lead_seconds: f64,
    length_seconds: f64,
    /// The times in which plans reached the last rank.
    plans: RecentTimes,
    repetitions: RecentTimes,
    /// The most repetitions of a series, as far as invalid ones in the latest series tell.
    most_calls: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lead_seconds: FIRST_LEAD_SECONDS,
            length_seconds: FIRST_LENGTH_SECONDS,
            plans: RecentTimes::default(),
            repetitions: RecentTimes::default(),
            most_calls: usize::MAX,
        }
    }
}

impl Pace {
    /// The next windows, planned at a global time with clocks of this largest error, for a last rank that arrives this
    /// much later than the start.
    pub fn plan_windows(
        &self,
        now: Nanoseconds,
        residual_seconds: f64,
        latest_seconds: f64,
    ) -> Windows {
        let length_seconds = self.length_seconds + 2.0 * residual_seconds + latest_seconds;
        Windows {
            first: now + span_in_nanoseconds(self.lead_seconds),
            length: span_in_nanoseconds(length_seconds),
        }
    }

    /// The most repetitions to plan at a time.
    pub fn most_calls(&self) -> usize {
        let by_time = (SERIES_SECONDS / self.length_seconds) as usize;
        by_time.min(self.most_calls).max(LEAST_CALLS)
    }

    /// The longest that a rank waits for a start, unless its clock is wrong.
    pub fn longest_wait(&self, windows: &Windows) -> Nanoseconds {
        2 * windows.length.max(span_in_nanoseconds(self.lead_seconds)) + 1_000_000
    }

    /// Adapts to a series, as seen by all ranks together, of which `invalid` repetitions are invalid.
    pub fn adapt_to_series(&mut self, spans: &[RepetitionTimes], invalid: usize) {
        let Some(first) = spans.first() else {
            return;
        };
        self.plans.add_time(self.lead_seconds + first.ready_seconds);
        for span in spans {
            // A late start of a rank does not lengthen the call.
            self.repetitions
                .add_time(span.end_seconds - span.latest_seconds);
        }
        if let Some(seconds) = self.plans.allowance_seconds() {
            self.lead_seconds = seconds.clamp(LEAST_LEAD_SECONDS, MOST_LEAD_SECONDS);
        }
        if let Some(seconds) = self.repetitions.allowance_seconds() {
            self.length_seconds = seconds + PAUSE_SECONDS;
        }
        self.adapt_calls(spans.len(), invalid);
    }

    /// Makes series shorter if most repetitions of the latest one were invalid. One slow call spoils all that follow it
    /// in its series: where calls are short, a series has many, and if a call in sixteen were slow, hardly any
    /// repetition would be valid.
    fn adapt_calls(&mut self, taken: usize, invalid: usize) {
        if SHORTENING_PART * invalid > taken {
            self.most_calls = (taken / 2).max(LEAST_CALLS);
        } else if LENGTHENING_PART * invalid <= taken {
            self.most_calls = self.most_calls.saturating_mul(2);
        }
    }
}
