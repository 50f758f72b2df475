//! The method of a campaign: repetitions, racing, synchronisation, patterns of calls, caches.

use schedule::Collective;
use serde::{Deserialize, Serialize};
use strum_macros::{Display, IntoStaticStr};

/// The conditions under which a candidate is repeated no further within a launch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repetition {
    /// Repetitions that are always taken.
    pub minimum: u32,
    /// The largest number of repetitions.
    pub maximum: u32,
    /// The width of the median's interval, as a share of the median, below which a candidate stops.
    pub precision: f64,
    /// Confidence of that interval, as in 0.95.
    pub confidence: f64,
    /// Measuring time after which a candidate stops if it has its minimum.
    pub slice_seconds: f64,
}

/// The condition under which a candidate leaves a cell early because another is faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Racing {
    /// The share, as in 0.05, by which a candidate must be slower to leave: the campaign's materiality, which should be
    /// at least the difference that decisions call a tie.
    pub materiality: f64,
}

/// The purpose of a launch.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Purpose {
    /// Launches search for candidates that may be better than the default.
    Exploring,
    /// Launches measure such candidates again beside the default, since the launches by which a candidate was chosen
    /// overestimate it.
    Confirming,
}

impl Purpose {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The method by which ranks are synchronised before each repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronisation {
    /// Ranks pass colltune's dissemination barrier; a repetition lasts as long as on its slowest rank.
    #[default]
    Barrier,
    /// Ranks start at an agreed time of a global clock; a repetition lasts from the first rank's
    /// start to the last one's end.
    Window,
}

/// The timing of successive calls of a collective and of the ranks' arrivals. Times of different patterns are never
/// compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize, Deserialize, IntoStaticStr, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Pattern {
    /// All ranks begin a call at the same time; it lasts until the slowest rank has done it.
    #[default]
    Together,
    /// Calls follow each other without synchronisation between them: the slowest rank's time for a block
    /// of calls, divided by their number.
    Repeated,
    /// Ranks arrive at a call one after the other, at agreed times: the time from the last rank's arrival to the last
    /// rank's end.
    Skewed,
    /// All ranks start a nonblocking call at the same time and wait for it at once; it lasts until the slowest rank's wait
    /// has ended. Only of broadcasts, allreduces and barriers.
    Nonblocking,
    /// The same with computation between start and wait, which takes about as long as the call and in which the request
    /// is tested now and then: the slowest rank's time without that of the computation alone, that is, the time that is not
    /// hidden. Choices for `nonblocking` are confirmed in it.
    Overlapped,
}

/// The collectives whose nonblocking calls can have rules.
pub const NONBLOCKING: [Collective; 3] = [
    Collective::Bcast,
    Collective::Allreduce,
    Collective::Barrier,
];

impl Pattern {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The definition of a time, as a clause.
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
            Self::Nonblocking => {
                "nonblocking calls that all ranks start together and wait for at once, each until the slowest has done it"
            }
            Self::Overlapped => {
                "nonblocking calls beside computation that takes about as long: the slowest rank's time without that of \
                 the computation, the part that is not hidden"
            }
        }
    }

    /// Whether this is [`Self::Together`].
    pub fn is_together(&self) -> bool {
        *self == Self::Together
    }

    /// Whether the calls are nonblocking ones.
    pub const fn is_nonblocking(self) -> bool {
        matches!(self, Self::Nonblocking | Self::Overlapped)
    }
}

/// Whether calls may find their buffers in caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// Calls use the same buffers again and again.
    #[default]
    Warm,
    /// Each call uses the next of several copies of its buffers, which in total are more than twice as large as the
    /// last-level caches of a node.
    Cold,
}

impl CacheState {
    /// Whether this is [`Self::Warm`].
    pub fn is_warm(&self) -> bool {
        *self == Self::Warm
    }
}

/// The circumstances in which a candidate left its cell early.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elimination {
    /// The round of turns after which it left, from 1.
    pub round: u32,
    /// The fastest candidate at that time, as an index into the task's candidates.
    pub leader: u32,
    /// Its time divided by the leader's, the median over rounds.
    pub ratio: f64,
    /// The approximate number of repetitions saved.
    pub saved_repetitions: f64,
    /// The approximate time saved.
    pub saved_seconds: f64,
}
