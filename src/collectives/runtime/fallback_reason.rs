//! Reasons why calls are left to the library.

use exec::NoChannels;
use thiserror::Error;

/// The reason why a call is left to the library. All ranks of a communicator have the same reason for a valid call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum FallbackReason {
    /// The table chooses the library's default.
    #[error("default")]
    Default,
    /// The table's choice can be forced only by the library's own settings.
    #[error("default (the table's choice needs the library's own settings, see `colltune export`)")]
    Native,
    /// The algorithm cannot serve the call: it needs an even number of ranks, for instance, or equal nodes.
    #[error("default (the table's choice cannot serve the call)")]
    Unsuited,
    /// The algorithm combines in another order than that of the ranks, and the operator does not commute.
    #[error("default (the table's choice needs an operator that commutes)")]
    Unordered,
    /// The elements are not in ascending order in memory, so they cannot be combined here.
    #[error("default (elements of the datatype are not in ascending order)")]
    Descending,
    /// MPI does not define the predefined operator for the datatype, or the library lacks it. The library may report
    /// an error, or define more than MPI does.
    #[error("default ({})", operation(operator, datatype))]
    Undefined {
        /// The operator's name in MPI.
        operator: Option<&'static str>,
        /// The datatype's name in MPI; `None` for a derived one.
        datatype: Option<&'static str>,
    },
    /// There is no data.
    #[error("default (no data)")]
    Empty,
    /// The vector has 2 GiB or more.
    #[error("default (2 GiB or more)")]
    TooLarge,
    /// The table's choice would keep the data of many ranks on one of them, more than was measured.
    #[error("default (the table's choice needs too much memory)")]
    Scratch,
    /// The arguments are wrong, and the library will report that. Only this rank may have this reason.
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
    /// The ranks are on several nodes, and the table was made on other networks than those of some node.
    #[error("default (the table was made on other networks)")]
    Networks,
    /// Some rank has loaded an accelerator's driver, and we cannot access device memory.
    #[error("default (buffers may be on accelerators)")]
    Devices,
    /// Too many communicators are in use, or the library could not provide a private one.
    #[error("default (no private communicator: free unused ones earlier)")]
    NoCommunicator,
}

/// An operator and a datatype in words.
fn operation(operator: &Option<&str>, datatype: &Option<&str>) -> String {
    let operator = operator.unwrap_or("an operator");
    match datatype {
        Some(datatype) => format!("{operator} of datatype {datatype}"),
        None => format!("{operator} of a derived datatype"),
    }
}
