//! Agreed starts, and which repetitions kept to them.

use super::{Nanoseconds, seconds};

/// Whoever waits for a start begins at most so much later, if it has a core: a few readings of the
/// clock, or an interrupt. Or such a share of the window: what takes long does not depend on it.
const PUNCTUAL_SECONDS: f64 = 5e-6;
const PUNCTUAL_SHARE: f64 = 0.02;

/// The starts of a series of repetitions, in global time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The start of the first.
    pub first: Nanoseconds,
    /// From each start to the next one.
    pub length: Nanoseconds,
}

impl Windows {
    /// The start of a repetition.
    pub fn start(&self, repetition: usize) -> Nanoseconds {
        self.first + self.length * repetition as Nanoseconds
    }

    /// How much later than a start who waits for it may begin.
    pub fn punctuality_seconds(&self) -> f64 {
        PUNCTUAL_SECONDS.max(PUNCTUAL_SHARE * seconds(self.length))
    }

    /// What a rank did in a repetition, by its readings of the global clock: when it began to wait
    /// for the start, when it started and when it was done.
    pub fn span(&self, repetition: usize, [ready, begin, end]: [Nanoseconds; 3]) -> Span {
        let due = self.start(repetition);
        Span {
            ready_seconds: seconds(ready - due),
            begin_seconds: seconds(begin - due),
            latest_seconds: seconds(begin - due),
            end_seconds: seconds(end - due),
        }
    }

    /// As a message.
    pub fn to_bytes(&self) -> [u8; 16] {
        let words = [self.first, self.length].map(Nanoseconds::to_le_bytes);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(words.as_flattened());
        bytes
    }

    /// From a message.
    pub fn from_bytes(bytes: &[u8; 16]) -> Self {
        let (words, _) = bytes.as_chunks();
        Self {
            first: Nanoseconds::from_le_bytes(words[0]),
            length: Nanoseconds::from_le_bytes(words[1]),
        }
    }
}

/// A repetition on one rank, or on all: seconds since its start was due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// When a rank began to wait for the start: the last one to do so. Not negative if it was late.
    pub ready_seconds: f64,
    /// When the first rank started.
    pub begin_seconds: f64,
    /// When the last rank started.
    pub latest_seconds: f64,
    /// When the last one was done.
    pub end_seconds: f64,
}

impl Span {
    /// Numbers whose maxima over ranks are those of the repetition on all.
    pub fn to_maxima(self) -> [f64; 4] {
        [
            self.ready_seconds,
            -self.begin_seconds,
            self.latest_seconds,
            self.end_seconds,
        ]
    }

    /// The repetition by its maxima over ranks.
    pub fn of_maxima([ready, begin, latest, end]: [f64; 4]) -> Self {
        Self {
            ready_seconds: ready,
            begin_seconds: -begin,
            latest_seconds: latest,
            end_seconds: end,
        }
    }

    /// Whether a rank was not yet waiting when the start was due, or lost its core while it waited and
    /// began so much later.
    fn is_late(&self, punctuality_seconds: f64) -> bool {
        self.ready_seconds >= 0.0 || self.latest_seconds > punctuality_seconds
    }

    /// From the first rank's start to the last one's end.
    pub fn seconds(&self) -> f64 {
        self.end_seconds - self.begin_seconds
    }
}

/// What became of a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// The time of each repetition, from the first rank's start to the last one's end.
    pub seconds: Vec<f64>,
    /// Which of them are not to be used, by place, ascending.
    pub invalid: Vec<u32>,
}

/// Tells which repetitions of a series, as all ranks together saw them, are valid: every rank waited
/// for the start and then began within `punctuality_seconds`, so that they started together, and all
/// were done before the next start was due, so that none was disturbed by those who had gone on.
pub fn judge(spans: &[Span], punctuality_seconds: f64, length: Nanoseconds) -> Judged {
    let length_seconds = seconds(length);
    let is_last = |place: usize| place + 1 == spans.len();
    let is_invalid = |(place, span): &(usize, &Span)| {
        span.is_late(punctuality_seconds) || (span.end_seconds > length_seconds && !is_last(*place))
    };
    let invalid = spans.iter().enumerate().filter(is_invalid);
    Judged {
        invalid: invalid.map(|(place, _)| place as u32).collect(),
        seconds: spans.iter().map(Span::seconds).collect(),
    }
}
