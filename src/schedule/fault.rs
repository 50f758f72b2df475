//! What can be wrong with a schedule.

use std::fmt;

use crate::Rank;

/// What is wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing more can happen, yet these ranks wait: rank, round, and what for.
    Deadlock(Vec<(Rank, u64, String)>),
    /// Both ends of a message name different lengths.
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
        /// What is wrong with it.
        why: Misdeed,
    },
    /// A rank's result is not what the collective promises.
    WrongResult {
        /// The rank.
        rank: Rank,
        /// The unit of the vector.
        unit: u64,
        /// What the unit holds instead.
        found: String,
    },
}

/// What is wrong with one action.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misdeed {
    /// The peer is not another rank of the communicator.
    BadPeer,
    /// The span lies outside its buffer, or the buffer is not there.
    OutOfBounds,
    /// The action reads a unit that nothing has been written to.
    ReadsUndefined,
    /// The action writes a buffer that is not the algorithm's to write.
    Forbidden,
    /// Another action of the round reads or writes what this one writes.
    Conflict,
    /// Operands or source and target differ in length, or the target overlaps an operand in part.
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
