//! Faults of schedules.

use thiserror::Error;

use crate::Rank;

/// A fault of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum Fault {
    /// A deadlock: these ranks wait, each with its round and what it waits for.
    #[error("deadlock:{} {} ranks in all", describe_waiting(.0), .0.len())]
    Deadlock(Vec<(Rank, u64, String)>),
    /// The two ends of a message have different lengths, in units.
    #[error("{from} sends {sent} units where {to} expects {expected}")]
    LengthMismatch {
        from: Rank,
        to: Rank,
        sent: u64,
        expected: u64,
    },
    /// A fault at one rank's action.
    #[error("rank {rank}, round {round}, {action}: {why}")]
    At {
        rank: Rank,
        round: u64,
        /// The action, as text.
        action: String,
        why: Misdeed,
    },
    /// A rank's result is not what the collective promises.
    #[error("rank {rank} ends with {found} in unit {unit} of its output")]
    WrongResult {
        rank: Rank,
        /// The unit of the vector.
        unit: u64,
        /// The value that the unit holds instead.
        found: String,
    },
    /// A rank leaves a barrier that another one may not have entered.
    #[error("rank {rank} ends without having waited for rank {other}")]
    NotAwaited {
        rank: Rank,
        /// The rank of which no chain of messages has arrived.
        other: Rank,
    },
    /// Two ranks combine the contributions to a unit in different trees, so their results differ if the operator
    /// rounds.
    #[error("rank {rank} combines unit {unit} in another order or bracketing than rank {other}")]
    Inconsistent {
        rank: Rank,
        other: Rank,
        /// The unit of the vector.
        unit: u64,
    },
}

/// The fault of one action.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misdeed {
    /// The peer is not another rank of the communicator.
    #[error("the peer is not another rank of the communicator")]
    BadPeer,
    /// The span exceeds its buffer, or the buffer does not exist.
    #[error("the span lies outside the buffer")]
    OutOfBounds,
    /// The action reads a unit that has never been written.
    #[error("reads memory that was never written")]
    ReadsUndefined,
    /// The action writes a buffer that it must not write.
    #[error("writes a buffer that must not be written")]
    Forbidden,
    /// Another action of the round accesses memory that this one writes.
    #[error("conflicts with another action of its round")]
    Conflict,
    /// Operands, or source and target, differ in length, or the target overlaps an operand partly.
    #[error("operands and target do not fit")]
    ShapeMismatch,
    /// The contribution of this rank would count twice.
    #[error("counts the contribution of rank {0} twice")]
    Doubled(Rank),
    /// Data of two different units would be combined.
    #[error("combines unit {0} with unit {1}")]
    Mixed(u64, u64),
    /// A rank that is told some sizes does not know where its data are.
    #[error("the rank was not told the size")]
    UnknownSize,
    /// The left operand ends with the first rank, the right one begins with the second.
    #[error("combines ranks up to {0} with ranks from {1}: out of order")]
    Misordered(Rank, Rank),
}

/// The first ranks that wait, as text.
fn describe_waiting(waiting: &[(Rank, u64, String)]) -> String {
    let first = waiting.iter().take(4);
    first
        .map(|(rank, round, action)| format!(" rank {rank} waits in round {round} ({action});"))
        .collect()
}
