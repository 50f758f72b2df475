//! Experiments, which determine the machine's parameters.

use serde::{Deserialize, Serialize};
use strum_macros::IntoStaticStr;

use crate::{CommShape, Datatype, Operator, Through};

/// A small dedicated measurement of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The kind.
    pub kind: ExperimentKind,
    /// The ranks of the launch. Depending on the kind, all take part, the first two, or the first.
    pub shape: CommShape,
    /// Message or vector size.
    #[serde(deserialize_with = "crate::bounds::bytes")]
    pub bytes: u64,
    /// The transport of its messages; MPI for experiments without messages.
    #[serde(default, skip_serializing_if = "Through::is_mpi")]
    pub through: Through,
}

impl Experiment {
    /// Whether several ranks of a node take part with their partners on another node.
    pub fn is_among_nodes(&self) -> bool {
        self.shape.has_orders()
    }
}

/// The kinds of experiments. After the colon is the time of a repetition, in seconds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[strum(serialize_all = "snake_case")]
pub enum ExperimentKind {
    /// Ranks 0 and 1 send one message forth and back: half of the round trip.
    PingPong,
    /// Ranks 0 and 1 send to each other at the same time (`MPI_Sendrecv`): one exchange.
    Exchange,
    /// Rank 0 starts [`Self::BURST`] messages to rank 1 at once, which answers all of them with one empty message: a
    /// message's share of the total time. This shows the overhead of starting a message, since all messages but one and
    /// the answer are delivered while others are being started. On two nodes of several ranks each, every rank of the
    /// first node does so with its partner on the second, all at once after a barrier: if they delay each other, this
    /// shows the time per message in the port of their node.
    Burst,
    /// Rank 1 tells rank 0 that it may send, and begins to receive [`Self::LATE_SECONDS`] later: the time until rank
    /// 0's `MPI_Send` returns. Eager messages, which do not wait for the receiver, take less.
    Late,
    /// The ranks form a ring; each sends to the next one while it receives from the previous one (`MPI_Sendrecv`): one
    /// step. The comparison with an exchange shows the effect of two different partners.
    Shift,
    /// Rank 0 sends a message to every other rank, all at once, and each answers with an empty one: the time until rank
    /// 0 has all answers.
    FanOut,
    /// Rank 0 requests a message from every other rank with an empty one, all at once: the time until it has all.
    FanIn,
    /// Each rank of the first node sends a message to its partner on the second, all at once after a barrier, and the
    /// partner answers with an empty one: the time until the last sender has its answer.
    Injection,
    /// Rank 0 combines two vectors as the executor does: one combination. Through shared memory, ranks 0 and 1 send a
    /// vector back and forth, and each combines arriving data directly from the channel: half of the round trip.
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
    /// The number of messages of a [`Self::Burst`], for which the answer is a small part of the time.
    pub const BURST: u32 = 64;

    /// The delay of the receiver in [`Self::Late`], in seconds, much longer than the messages take.
    pub const LATE_SECONDS: f64 = 1e-3;

    /// The name used in files and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
