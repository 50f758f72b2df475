//! Reasons why calls are left to the library.

use exec::NoChannels;
use thiserror::Error;

/// The reason why a call is left to the library. All ranks of a communicator have the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum FallbackReason {
    /// The table chooses the library's default.
    #[error("default")]
    Default,
    /// The table's choice can be forced only by the library's own settings.
    #[error("default (the table's choice needs the library's own settings, see `colltune export`)")]
    Native,
    /// The algorithm cannot serve the call (for instance, it is not ordered and the operator does not commute), or we
    /// cannot combine the elements: they are not in ascending order in memory, or the predefined operator is not
    /// known to be defined for them, as with complex numbers.
    #[error("default (the table's choice cannot serve the call)")]
    Unsuited,
    /// There is no data.
    #[error("default (no data)")]
    Empty,
    /// The vector has 2 GiB or more.
    #[error("default (2 GiB or more)")]
    TooLarge,
    /// The arguments are wrong, and the library will report that.
    #[error("default (wrong arguments)")]
    Invalid,
    /// An intercommunicator.
    #[error("default (intercommunicator)")]
    Intercommunicator,
    /// The communicator has a single rank.
    #[error("default (one rank)")]
    Alone,
    /// Some ranks belong to another `MPI_COMM_WORLD`, and may not know the table.
    #[error("default (ranks of another world)")]
    OtherWorld,
    /// The calls on the communicator so far were too few and too short, see [`crate::Settings::attach_after_bytes`].
    #[error("default (first calls on a communicator)")]
    FirstCalls,
    /// For the communicator's shape the table contains only the default.
    #[error("default (the table has no other choice)")]
    NoRules,
    /// The shape, or this order of ranks on it, was not measured, and the policy does not extrapolate.
    #[error("default (shape not measured)")]
    Shape,
    /// The shape is between measured ones, and the ranks' processors interpolate to different rules.
    #[error("default (ranks interpolate differently)")]
    Rounding,
    /// The table chooses another candidate, but the policy does not deploy the rule.
    #[error("default (the table's rule is not used)")]
    Withheld,
    /// The table chooses an algorithm through shared memory, which is not available. The best algorithm through MPI
    /// may be another one.
    #[error("default (no shared memory: {0})")]
    NoChannels(NoChannels),
    /// Some rank has loaded an accelerator's driver, and we cannot access device memory.
    #[error("default (buffers may be on accelerators)")]
    Devices,
    /// Too many communicators are in use, or the library could not provide a private one.
    #[error("default (no private communicator)")]
    NoCommunicator,
}
