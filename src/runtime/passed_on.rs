//! Why a call is left to the library.

use std::fmt;

/// Why a call is left to the library. All ranks of a communicator come to the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassedOn {
    /// The table chooses the library's default.
    Default,
    /// The table chooses something that only the library's own settings can force.
    Native,
    /// The algorithm cannot serve the call: an unordered one an operator that does not commute, for
    /// instance; or we cannot combine such elements: those that do not follow one another upwards in
    /// memory, and those on which an operator of MPI's is not known to be defined, complex numbers for
    /// instance.
    Unsuited,
    /// There is no data.
    Empty,
    /// The vector has 2 GiB or more.
    TooLarge,
    /// The library will report these arguments as wrong.
    Invalid,
    /// An intercommunicator.
    Intercommunicator,
    /// One rank alone.
    Alone,
    /// Ranks of another `MPI_COMM_WORLD`, which may know nothing of the table.
    OtherWorld,
    /// The table has nothing for the communicator's shape but the default.
    NoRules,
    /// The shape, or ranks in this order on it, was not measured, and the policy does not extrapolate.
    Shape,
    /// The table chooses another candidate, but the policy does not deploy the rule.
    Withheld,
    /// Some rank has loaded what gives out memory of accelerators, which we cannot read.
    Devices,
    /// Too many communicators are in use, or the library had no private one to give.
    NoCommunicator,
}

impl fmt::Display for PassedOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "default",
            Self::Native => "default (the table's choice needs the library's own settings)",
            Self::Unsuited => "default (the table's choice cannot serve the call)",
            Self::Empty => "default (no data)",
            Self::TooLarge => "default (2 GiB or more)",
            Self::Invalid => "default (wrong arguments)",
            Self::Intercommunicator => "default (intercommunicator)",
            Self::Alone => "default (one rank)",
            Self::OtherWorld => "default (ranks of another world)",
            Self::NoRules => "default (the table has nothing else)",
            Self::Shape => "default (shape not measured)",
            Self::Withheld => "default (the table's rule is not used)",
            Self::Devices => "default (buffers may be on accelerators)",
            Self::NoCommunicator => "default (no private communicator)",
        })
    }
}
