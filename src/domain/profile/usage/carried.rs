//! What carried out calls, and why.

use serde::{Deserialize, Serialize};
use strum_macros::IntoStaticStr;

/// What carried out calls: colltune by a rule, or the library for a reason.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CarriedOutBy {
    /// colltune, by a rule for the communicator's shape.
    Table,
    /// colltune, by a rule for the nearest shape that was measured.
    Nearest,
    /// The library: the table chooses its default.
    Default,
    /// The library: the table has no rules for the collective.
    NotInTable,
    /// The library: the table's choice can be forced only by the library's own settings.
    Native,
    /// The library: the table's choice cannot serve the call.
    Unsuited,
    /// The library: the table's choice needs an operator that commutes.
    Unordered,
    /// The library: the elements of the datatype are not in ascending order.
    Descending,
    /// The library: MPI does not define the operator for the datatype.
    Undefined,
    /// The library: there is no data.
    Empty,
    /// The library: 2 GiB or more.
    TooLarge,
    /// The library: the arguments are wrong.
    Invalid,
    /// The library: an intercommunicator.
    Intercommunicator,
    /// The library: one rank.
    Alone,
    /// The library: ranks of another `MPI_COMM_WORLD`.
    OtherWorld,
    /// The library: the first calls on a communicator.
    FirstCalls,
    /// The library: the shape, or the order of ranks on it, was not measured.
    Shape,
    /// The library: the ranks interpolate to different rules.
    Rounding,
    /// The library: the table has a rule that is not deployed, such as one that is not confirmed.
    Withheld,
    /// The library: the table's choice needs shared memory, which was not available.
    NoChannels,
    /// The library: the table was made on other networks.
    Networks,
    /// The library: buffers may be on accelerators.
    Devices,
    /// The library: no private communicator.
    NoCommunicator,
    /// The library: a nonblocking collective that no rule gives to colltune.
    Nonblocking,
    /// The library: tables do not decide about persistent collectives.
    Persistent,
    /// The library: tables do not decide about neighbourhood collectives.
    Neighbourhood,
}

/// Whether a table decides about calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableCoverage {
    /// colltune carried them out.
    Served,
    /// The table leaves them to the library's default.
    LeftByTable,
    /// The library carried them out, and the table has nothing to do with that.
    NotCovered,
}

impl CarriedOutBy {
    /// Everything that carries out calls, in the order of their numbers.
    pub const ALL: [Self; 26] = [
        Self::Table,
        Self::Nearest,
        Self::Default,
        Self::NotInTable,
        Self::Native,
        Self::Unsuited,
        Self::Unordered,
        Self::Descending,
        Self::Undefined,
        Self::Empty,
        Self::TooLarge,
        Self::Invalid,
        Self::Intercommunicator,
        Self::Alone,
        Self::OtherWorld,
        Self::FirstCalls,
        Self::Shape,
        Self::Rounding,
        Self::Withheld,
        Self::NoChannels,
        Self::Networks,
        Self::Devices,
        Self::NoCommunicator,
        Self::Nonblocking,
        Self::Persistent,
        Self::Neighbourhood,
    ];

    /// The name used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The one with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|known| known.name() == name)
    }

    /// Whether a table decides about such calls.
    #[must_use]
    pub const fn coverage(self) -> TableCoverage {
        match self {
            Self::Table | Self::Nearest => TableCoverage::Served,
            Self::Default => TableCoverage::LeftByTable,
            _ => TableCoverage::NotCovered,
        }
    }

    /// What carried out the calls, in words.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Table => "the table's rules",
            Self::Nearest => "rules of the nearest measured shape",
            Self::Default => "the library, as the table says",
            Self::NotInTable => "the library: not in the table",
            Self::Native => "the library: the rule needs the library's own settings",
            Self::Unsuited => "the library: the rule cannot serve the call",
            Self::Unordered => "the library: the rule needs an operator that commutes",
            Self::Descending => "the library: elements are not in ascending order",
            Self::Undefined => "the library: operator not defined for the datatype",
            Self::Empty => "the library: no data",
            Self::TooLarge => "the library: 2 GiB or more",
            Self::Invalid => "the library: wrong arguments",
            Self::Intercommunicator => "the library: intercommunicator",
            Self::Alone => "the library: one rank",
            Self::OtherWorld => "the library: ranks of another world",
            Self::FirstCalls => "the library: first calls on a communicator",
            Self::Shape => "the library: shape not measured",
            Self::Rounding => "the library: ranks interpolate differently",
            Self::Withheld => "the library: the rule is not deployed",
            Self::NoChannels => "the library: no shared memory",
            Self::Networks => "the library: table of other networks",
            Self::Devices => "the library: buffers may be on accelerators",
            Self::NoCommunicator => "the library: no private communicator",
            Self::Nonblocking => "the library: nonblocking",
            Self::Persistent => "the library: persistent",
            Self::Neighbourhood => "the library: neighbourhood collective",
        }
    }
}
