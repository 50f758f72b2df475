//! How much time a candidate's repetitions are given.

use std::collections::VecDeque;

use crate::{Nanoseconds, Span, Windows, nanoseconds};

/// From a plan to its first start, for a start: ranks must have heard of it before.
const FIRST_LEAD_SECONDS: f64 = 200e-6;

/// The least and the most of it.
const LEAST_LEAD_SECONDS: f64 = 50e-6;
const MOST_LEAD_SECONDS: f64 = 0.1;

/// A window before anything is known of the candidate.
const FIRST_LENGTH_SECONDS: f64 = 1e-3;

/// In every window, beside what the candidate takes: reading clocks, and waiting.
const PAUSE_SECONDS: f64 = 2e-6;

/// How much longer a window is than nine of ten repetitions took, of the last so many.
const ROOM: f64 = 1.5;
const MEMORY: usize = 64;

/// A series lasts about so long, or has so many repetitions: who is late in one stays late until he
/// has caught up, or until the next plan, which costs about the lead.
const SERIES_SECONDS: f64 = 500e-6;
const LEAST_CALLS: usize = 4;

/// How long a candidate's windows must be, by how it kept to earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    lead_seconds: f64,
    length_seconds: f64,
    /// What the last repetitions took, the latest last.
    taken: VecDeque<f64>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lead_seconds: FIRST_LEAD_SECONDS,
            length_seconds: FIRST_LENGTH_SECONDS,
            taken: VecDeque::new(),
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

    /// The most repetitions that should be planned at a time.
    pub fn most_calls(&self) -> usize {
        ((SERIES_SECONDS / self.length_seconds) as usize).max(LEAST_CALLS)
    }

    /// The longest that a rank waits for a start, unless its clock is wrong.
    pub fn longest_wait(&self, windows: &Windows) -> Nanoseconds {
        2 * windows.length.max(nanoseconds(self.lead_seconds)) + 1_000_000
    }

    /// Learns from a series, as all ranks together saw it.
    pub fn adapt(&mut self, spans: &[Span]) {
        let Some(first) = spans.first() else {
            return;
        };
        let spare = -first.ready_seconds;
        if first.is_late() {
            self.lead_seconds = (2.0 * (self.lead_seconds - spare)).min(MOST_LEAD_SECONDS);
        } else if spare > self.lead_seconds / 2.0 {
            self.lead_seconds = (0.75 * self.lead_seconds).max(LEAST_LEAD_SECONDS);
        }
        // Late ones began when they could.
        self.taken
            .extend(spans.iter().map(|span| match span.is_late() {
                true => span.seconds(),
                false => span.end_seconds,
            }));
        let surplus = self.taken.len().saturating_sub(MEMORY);
        self.taken.drain(..surplus);
        let mut ascending: Vec<f64> = self.taken.iter().copied().collect();
        ascending.sort_by(f64::total_cmp);
        if let Some(usual) = statistics::quantile(&ascending, 0.9) {
            self.length_seconds = usual * ROOM + PAUSE_SECONDS;
        }
    }
}
