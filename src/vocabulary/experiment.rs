//! Measurements that show the machine's own parameters.

use serde::{Deserialize, Serialize};

use crate::{CommShape, Datatype, Operator, Through};

/// A small dedicated measurement of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Which.
    pub kind: ExperimentKind,
    /// The ranks of the launch. Of some kinds all take part, of the others the first two or the first.
    pub shape: CommShape,
    /// Message or vector size.
    #[serde(deserialize_with = "crate::bounds::bytes")]
    pub bytes: u64,
    /// What carries its messages; experiments without messages name MPI.
    #[serde(default, skip_serializing_if = "Through::is_mpi")]
    pub through: Through,
}

impl Experiment {
    /// Whether several ranks of a node take part with their partners on another one.
    pub const fn is_among_nodes(&self) -> bool {
        self.shape.nodes > 1 && self.shape.ppn > 1
    }
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
    /// here, for but one message and the answer take their way while others are being started. On two nodes of several
    /// ranks each rank of the first node does so with its partner on the second, all at once after a barrier: if they
    /// wait for each other, what a message costs the port of their node shows.
    Burst,
    /// Rank 1 lets rank 0 know that it may send, and begins to receive [`Self::LATE_SECONDS`] later:
    /// until rank 0 goes on after `MPI_Send`. What is sent without waiting for the receiver, eagerly,
    /// does not take that long.
    Late,
    /// The ranks stand in a circle; each sends to the next one while it receives from the one before
    /// it (`MPI_Sendrecv`): one step. Compared with an exchange it tells whether it matters that the
    /// two partners are different ranks.
    Shift,
    /// Rank 0 sends a message to each other rank, all at once, and each answers with an empty one:
    /// until rank 0 has all answers.
    FanOut,
    /// Rank 0 asks each other rank for a message, with an empty one, all at once: until it has all.
    FanIn,
    /// Each rank of the first node sends a message to its partner on the second, all at once after a
    /// barrier, and the partner answers with an empty one: until the last sender has its answer.
    Injection,
    /// Rank 0 combines two vectors as the executor does: one combination. Through shared memory, ranks 0 and 1
    /// send a vector forth and back, and each combines what arrives straight out of the channel: half of the round
    /// trip.
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

    /// How late a receiver is in [`Self::Late`], in seconds: much longer than messages of the sizes in
    /// question take.
    pub const LATE_SECONDS: f64 = 1e-3;

    /// The name used in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PingPong => "ping_pong",
            Self::Exchange => "exchange",
            Self::Burst => "burst",
            Self::Late => "late",
            Self::Shift => "shift",
            Self::FanOut => "fan_out",
            Self::FanIn => "fan_in",
            Self::Injection => "injection",
            Self::Combine { .. } => "combine",
            Self::Copy => "copy",
        }
    }
}
