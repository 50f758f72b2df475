//! Agreed starts, and the repetitions that kept to them.

use vocabulary::Pattern;

use super::{Nanoseconds, span_in_seconds};

/// The largest delay of a rank that waits for a start and has a core: a few readings of the clock, or an interrupt; or
/// this share of the window, since long calls do not depend on it.
const PUNCTUAL_SECONDS: f64 = 5e-6;
const PUNCTUAL_SHARE: f64 = 0.02;

/// The starts of a series of repetitions, in global time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The start of the first.
    pub first: Nanoseconds,
    /// The time from each start to the next one.
    pub length: Nanoseconds,
}

impl Windows {
    /// The start of a repetition.
    pub fn start_of_repetition(&self, repetition: usize) -> Nanoseconds {
        self.first + self.length * repetition as Nanoseconds
    }

    /// The largest allowed delay of a waiting rank after a start.
    pub fn punctuality_seconds(&self) -> f64 {
        PUNCTUAL_SECONDS.max(PUNCTUAL_SHARE * span_in_seconds(self.length))
    }

    /// The times of a rank in a repetition in which it was to arrive `offset` after the start, by its readings of the
    /// global clock.
    pub fn times_of_rank(
        &self,
        repetition: usize,
        offset: Nanoseconds,
        readings: Readings,
    ) -> RepetitionTimes {
        let Readings {
            ready,
            begin,
            timed,
            end,
        } = readings;
        let due = self.start_of_repetition(repetition);
        RepetitionTimes {
            ready_seconds: span_in_seconds(ready - due - offset),
            late_seconds: span_in_seconds(begin - due - offset),
            begin_seconds: span_in_seconds(begin - due),
            latest_seconds: span_in_seconds(begin - due),
            end_seconds: span_in_seconds(end - due),
            own_seconds: span_in_seconds(end - timed),
        }
    }

    /// Encodes the windows as a message.
    pub fn to_bytes(&self) -> [u8; 16] {
        let words = [self.first, self.length].map(Nanoseconds::to_le_bytes);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(words.as_flattened());
        bytes
    }

    /// Decodes a message.
    pub fn from_bytes(bytes: &[u8; 16]) -> Self {
        let (words, _) = bytes.as_chunks();
        Self {
            first: Nanoseconds::from_le_bytes(words[0]),
            length: Nanoseconds::from_le_bytes(words[1]),
        }
    }
}

/// A rank's readings of its clock in a repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// It began to wait for its start.
    pub ready: Nanoseconds,
    /// It started.
    pub begin: Nanoseconds,
    /// Its timed calls began.
    pub timed: Nanoseconds,
    /// It finished.
    pub end: Nanoseconds,
}

impl Readings {
    /// The readings by another clock.
    pub fn by_clock(self, clock: impl Fn(Nanoseconds) -> Nanoseconds) -> Self {
        Self {
            ready: clock(self.ready),
            begin: clock(self.begin),
            timed: clock(self.timed),
            end: clock(self.end),
        }
    }
}

/// A repetition on one rank, or on all, in seconds since its start was due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepetitionTimes {
    /// The time at which a rank began to wait minus its arrival, for the last rank. Not negative if it was late.
    pub ready_seconds: f64,
    /// The delay of a rank's start after its arrival.
    pub late_seconds: f64,
    /// The start of the first rank.
    pub begin_seconds: f64,
    /// The start of the last rank.
    pub latest_seconds: f64,
    /// The end of the last rank.
    pub end_seconds: f64,
    /// The slowest rank's own time for the timed calls.
    pub own_seconds: f64,
}

impl RepetitionTimes {
    /// Values that represent the repetition on all ranks by their maxima over ranks.
    pub fn to_maxima(self) -> [f64; 6] {
        [
            self.ready_seconds,
            self.late_seconds,
            -self.begin_seconds,
            self.latest_seconds,
            self.end_seconds,
            self.own_seconds,
        ]
    }

    /// The repetition by its maxima over ranks.
    pub fn from_maxima([ready, late, begin, latest, end, own]: [f64; 6]) -> Self {
        Self {
            ready_seconds: ready,
            late_seconds: late,
            begin_seconds: -begin,
            latest_seconds: latest,
            end_seconds: end,
            own_seconds: own,
        }
    }

    /// Whether a rank was not yet waiting when the start was due, or started too late because it lost its core while
    /// waiting.
    fn is_late(&self, punctuality_seconds: f64) -> bool {
        self.ready_seconds >= 0.0 || self.late_seconds > punctuality_seconds
    }

    /// The time of the repetition: from the first rank's start to the last rank's end, computation between included; for
    /// repeated calls the slowest rank's own time; for skewed calls from the last rank's start.
    pub fn seconds(&self, pattern: Pattern) -> f64 {
        match pattern {
            Pattern::Together | Pattern::Nonblocking | Pattern::Overlapped => {
                self.end_seconds - self.begin_seconds
            }
            Pattern::Repeated => self.own_seconds,
            Pattern::Skewed => self.end_seconds - self.latest_seconds,
        }
    }
}

/// The result of a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgedSeries {
    /// The time of each repetition ([`RepetitionTimes::seconds`]).
    pub seconds: Vec<f64>,
    /// The indices of invalid repetitions, ascending.
    pub invalid: Vec<u32>,
}

/// Determines which repetitions of a series, as seen by all ranks together, are valid: every rank waited for the start
/// and then began within `punctuality_seconds` of its arrival, and all finished before the next start was due, so that
/// no rank was disturbed by others in the next repetition.
pub fn judge_series(
    spans: &[RepetitionTimes],
    pattern: Pattern,
    punctuality_seconds: f64,
    length: Nanoseconds,
) -> JudgedSeries {
    let length_seconds = span_in_seconds(length);
    let is_last = |place: usize| place + 1 == spans.len();
    let is_invalid = |(place, span): &(usize, &RepetitionTimes)| {
        span.is_late(punctuality_seconds) || (span.end_seconds > length_seconds && !is_last(*place))
    };
    let invalid = spans.iter().enumerate().filter(is_invalid);
    JudgedSeries {
        invalid: invalid.map(|(place, _)| place as u32).collect(),
        seconds: spans.iter().map(|span| span.seconds(pattern)).collect(),
    }
}
