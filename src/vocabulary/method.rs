//! How a campaign measures: repetitions, early ends, starts, patterns of calls, caches.

use std::fmt;

use serde::{Deserialize, Serialize};

/// When to stop repeating a candidate within a launch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repetition {
    /// Repetitions that are always taken.
    pub minimum: u32,
    /// Repetitions after which a candidate stops in any case.
    pub maximum: u32,
    /// Stop when the interval of the median is narrower than this share of the median.
    pub precision: f64,
    /// Confidence of that interval, as in 0.95.
    pub confidence: f64,
    /// Measuring time after which a candidate stops once it has its minimum.
    pub slice_seconds: f64,
}

/// When a candidate leaves a cell early because another is faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Racing {
    /// Only what is slower by more than this share, as in 0.05, may leave: the campaign's
    /// materiality, which should be what decisions call a tie, or more.
    pub materiality: f64,
}

/// What a launch of a campaign is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Launches find out which candidates may be better than the default.
    Exploring,
    /// Launches measure such a candidate again beside the default: what is chosen by some launches looks
    /// better in these than it is.
    Confirming,
}

impl Purpose {
    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exploring => "exploring",
            Self::Confirming => "confirming",
        }
    }
}

/// How ranks are brought to a common start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronisation {
    /// Ranks pass a dissemination barrier of our own; a repetition lasts as long as on its slowest rank.
    #[default]
    Barrier,
    /// Ranks start at an agreed time of a global clock; a repetition lasts from the first rank's
    /// start to the last one's end.
    Window,
}

/// How the calls of a collective follow each other and how ranks arrive at them. Times of different patterns
/// are times of different things: they are never compared.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// All ranks begin a call at the same time; it lasts until the slowest rank has done it.
    #[default]
    Together,
    /// Calls follow each other without synchronisation between them: the slowest rank's time for a block
    /// of calls, divided by their number.
    Repeated,
    /// Ranks arrive at a call one after the other, at times that are agreed upon: from the last rank's
    /// arrival to the last one's end.
    Skewed,
}

impl Pattern {
    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Together => "together",
            Self::Repeated => "repeated",
            Self::Skewed => "skewed",
        }
    }

    /// What a time is, as a clause.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Together => {
                "calls that all ranks begin together, each until the slowest has done it"
            }
            Self::Repeated => {
                "repeated calls, without synchronisation between them: the slowest rank's time for a \
                 block, divided by its calls"
            }
            Self::Skewed => {
                "skewed calls, at which ranks arrive one after the other: from the last one's arrival \
                 to the last one's end, the mean of three orders of arrival"
            }
        }
    }

    /// Whether this is [`Self::Together`].
    pub fn is_together(&self) -> bool {
        *self == Self::Together
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether calls may find their buffers in caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// Calls work on the same buffers again and again.
    #[default]
    Warm,
    /// Each call works on the next of several copies of its buffers, which are together more than
    /// twice as large as the last-level caches of a node.
    Cold,
}

impl CacheState {
    /// Whether this is [`Self::Warm`].
    pub fn is_warm(&self) -> bool {
        *self == Self::Warm
    }
}

/// How a candidate left the race of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elimination {
    /// The round of turns after which it left, from 1.
    pub round: u32,
    /// The candidate that was fastest then, as an index into the task's candidates.
    pub leader: u32,
    /// Its time divided by the leader's, the median over rounds.
    pub ratio: f64,
    /// About how many repetitions it would otherwise have had besides.
    pub saved_repetitions: f64,
    /// About how long they would have taken.
    pub saved_seconds: f64,
}
