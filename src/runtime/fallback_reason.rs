//! Why a call is left to the library.

use exec::NoChannels;
use thiserror::Error;

/// Why a call is left to the library. All ranks of a communicator come to the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum FallbackReason {
    /// The table chooses the library's default.
    #[error("default")]
    Default,
    /// The table chooses something that only the library's own settings can force.
    #[error("default (the table's choice needs the library's own settings)")]
    Native,
    /// The algorithm cannot serve the call: an unordered one an operator that does not commute, for
    /// instance; or we cannot combine such elements: those that do not follow one another upwards in
    /// memory, and those on which an operator of MPI's is not known to be defined, complex numbers for
    /// instance.
    #[error("default (the table's choice cannot serve the call)")]
    Unsuited,
    /// There is no data.
    #[error("default (no data)")]
    Empty,
    /// The vector has 2 GiB or more.
    #[error("default (2 GiB or more)")]
    TooLarge,
    /// The library will report these arguments as wrong.
    #[error("default (wrong arguments)")]
    Invalid,
    /// An intercommunicator.
    #[error("default (intercommunicator)")]
    Intercommunicator,
    /// One rank alone.
    #[error("default (one rank)")]
    Alone,
    /// Ranks of another `MPI_COMM_WORLD`, which may know nothing of the table.
    #[error("default (ranks of another world)")]
    OtherWorld,
    /// The table has nothing for the communicator's shape but the default.
    #[error("default (the table has nothing else)")]
    NoRules,
    /// The shape, or ranks in this order on it, was not measured, and the policy does not extrapolate.
    #[error("default (shape not measured)")]
    Shape,
    /// The shape lies between measured ones, and the ranks' processors do not interpolate to the same rules.
    #[error("default (ranks interpolate differently)")]
    Rounding,
    /// The table chooses another candidate, but the policy does not deploy the rule.
    #[error("default (the table's rule is not used)")]
    Withheld,
    /// The table chooses an algorithm through shared memory, of which there is none. That the same is the best through
    /// MPI nothing tells.
    #[error("default (no shared memory: {0})")]
    NoChannels(NoChannels),
    /// Some rank has loaded what gives out memory of accelerators, which we cannot read.
    #[error("default (buffers may be on accelerators)")]
    Devices,
    /// Too many communicators are in use, or the library had no private one to give.
    #[error("default (no private communicator)")]
    NoCommunicator,
}
