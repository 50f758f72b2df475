//! Measurements that show the machine's own parameters.

use serde::{Deserialize, Serialize};

use crate::{CommShape, Datatype, Operator};

/// A small dedicated measurement of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Which.
    pub kind: ExperimentKind,
    /// The ranks of the launch; the experiment uses the first two, or the first one.
    pub shape: CommShape,
    /// Message or vector size.
    pub bytes: u64,
}

/// The kinds of experiments. A repetition's time is what the description says, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ExperimentKind {
    /// Ranks 0 and 1 send one message forth and back: half of the round trip.
    PingPong,
    /// Ranks 0 and 1 send to each other at the same time (`MPI_Sendrecv`): one exchange.
    Exchange,
    /// Rank 0 starts [`Self::BURST`] messages to rank 1 at once, which answers all of them with one
    /// empty message: a message's share of the whole. What it costs a rank to start a message shows
    /// here, for but one message and the answer take their way while others are being started.
    Burst,
    /// Rank 0 combines two vectors as the executor does: one combination.
    Combine {
        /// Element type.
        datatype: Datatype,
        /// Operator.
        operator: Operator,
    },
    /// Rank 0 copies a vector as the executor does: one copy.
    Copy,
}

impl ExperimentKind {
    /// The messages of a [`Self::Burst`]: so many that the answer is a small part of the time.
    pub const BURST: u32 = 64;

    /// The name used in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PingPong => "ping_pong",
            Self::Exchange => "exchange",
            Self::Burst => "burst",
            Self::Combine { .. } => "combine",
            Self::Copy => "copy",
        }
    }
}
