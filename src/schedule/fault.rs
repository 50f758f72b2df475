//! Faults of schedules.

use std::fmt;

use crate::Rank;

/// A fault of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A deadlock: these ranks wait, each with its round and what it waits for.
    Deadlock(Vec<(Rank, u64, String)>),
    /// The two ends of a message have different lengths.
    LengthMismatch {
        /// The sender.
        from: Rank,
        /// The receiver.
        to: Rank,
        /// Units sent.
        sent: u64,
        /// Units expected.
        expected: u64,
    },
    /// A fault at one rank's action.
    At {
        /// The rank.
        rank: Rank,
        /// The round.
        round: u64,
        /// The action, as text.
        action: String,
        /// The kind of the fault.
        why: Misdeed,
    },
    /// A rank's result is not what the collective promises.
    WrongResult {
        /// The rank.
        rank: Rank,
        /// The unit of the vector.
        unit: u64,
        /// The value that the unit holds instead.
        found: String,
    },
}

/// The fault of one action.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misdeed {
    /// The peer is not another rank of the communicator.
    BadPeer,
    /// The span exceeds its buffer, or the buffer does not exist.
    OutOfBounds,
    /// The action reads a unit that has never been written.
    ReadsUndefined,
    /// The action writes a buffer that it must not write.
    Forbidden,
    /// Another action of the round accesses memory that this one writes.
    Conflict,
    /// Operands, or source and target, differ in length, or the target overlaps an operand partly.
    ShapeMismatch,
    /// The contribution of this rank would count twice.
    Doubled(Rank),
    /// Data of two different units would be combined.
    Mixed(u64, u64),
    /// The left operand ends with the first rank, the right one begins with the second.
    Misordered(Rank, Rank),
}

impl fmt::Display for Misdeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPeer => f.write_str("the peer is not another rank of the communicator"),
            Self::OutOfBounds => f.write_str("the span lies outside the buffer"),
            Self::ReadsUndefined => f.write_str("reads memory that was never written"),
            Self::Forbidden => f.write_str("writes a buffer that must not be written"),
            Self::Conflict => f.write_str("conflicts with another action of its round"),
            Self::ShapeMismatch => f.write_str("operands and target do not fit"),
            Self::Doubled(rank) => write!(f, "counts the contribution of rank {rank} twice"),
            Self::Mixed(left, right) => write!(f, "combines unit {left} with unit {right}"),
            Self::Misordered(left, right) => {
                write!(
                    f,
                    "combines ranks up to {left} with ranks from {right}: out of order"
                )
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadlock(waiting) => {
                write!(f, "deadlock:")?;
                for (rank, round, action) in waiting.iter().take(4) {
                    write!(f, " rank {rank} waits in round {round} ({action});")?;
                }
                write!(f, " {} ranks in all", waiting.len())
            }
            Self::LengthMismatch {
                from,
                to,
                sent,
                expected,
            } => {
                write!(f, "{from} sends {sent} units where {to} expects {expected}")
            }
            Self::At {
                rank,
                round,
                action,
                why,
            } => {
                write!(f, "rank {rank}, round {round}, {action}: {why}")
            }
            Self::WrongResult { rank, unit, found } => {
                write!(
                    f,
                    "rank {rank} ends with {found} in unit {unit} of its output"
                )
            }
        }
    }
}

impl std::error::Error for Fault {}
