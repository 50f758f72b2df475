//! What calls have in common that one tally is of.

use serde::{Deserialize, Serialize};
use strum_macros::IntoStaticStr;
use vocabulary::{NONBLOCKING, RankOrder};

/// How a program made a communicator.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MadeBy {
    /// It is `MPI_COMM_WORLD` or `MPI_COMM_SELF`.
    Predefined,
    /// By `MPI_Comm_dup` or one of its variants.
    Dup,
    /// By `MPI_Comm_split` or `MPI_Comm_split_type`.
    Split,
    /// By `MPI_Comm_create` or `MPI_Comm_create_group`.
    Create,
    /// By a function for topologies, such as `MPI_Cart_create` or `MPI_Cart_sub`.
    Topology,
    /// It is an intercommunicator, or was made from one.
    Intercommunicator,
    /// In another way.
    Unknown,
}

impl MadeBy {
    /// Every way, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Predefined,
        Self::Dup,
        Self::Split,
        Self::Create,
        Self::Topology,
        Self::Intercommunicator,
        Self::Unknown,
    ];

    /// The name used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Communicators that are alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommunicatorClass {
    /// The number of ranks.
    pub ranks: u32,
    /// The number of nodes; null if some ranks belong to other programs.
    pub nodes: Option<u32>,
    /// The number of ranks on each node; null if it is not the same on all.
    pub ppn: Option<u32>,
    /// The order of the ranks on the nodes.
    pub order: RankOrder,
    /// How the program made them.
    pub made_by: MadeBy,
}

/// Whether calls return before the collective ends.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Form {
    /// As `MPI_Bcast`.
    Blocking,
    /// As `MPI_Ibcast`.
    Nonblocking,
    /// As `MPI_Bcast_init`.
    Persistent,
}

impl Form {
    /// Every form, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Blocking, Self::Nonblocking, Self::Persistent];

    /// The name used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The root of a call that has one.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Root {
    /// Rank 0.
    First,
    /// Another rank.
    Other,
}

/// Lengths of calls that one tally is of: from a power of two up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeClass {
    /// The least length: 0, or a power of two.
    pub least_bytes: u64,
}

impl SizeClass {
    /// The class of a length.
    #[must_use]
    pub const fn of_bytes(bytes: u64) -> Self {
        Self::from_number(Self::number_of_bytes(bytes))
    }

    /// The number of the class of a length: 0 for 0 bytes, and up to 64.
    #[must_use]
    pub const fn number_of_bytes(bytes: u64) -> u32 {
        u64::BITS - bytes.leading_zeros()
    }

    /// The class with a number.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        let least_bytes = match number {
            0 => 0,
            1..=64 => 1 << (number - 1),
            _ => 1 << 63,
        };
        Self { least_bytes }
    }
}

/// What calls have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallShape {
    /// MPI's name of the blocking collective in lower case, such as `allreduce`, or `other`: calls of many shapes, each
    /// with little time.
    pub collective: String,
    /// Whether calls return before the collective ends.
    pub form: Form,
    /// The communicators; null if there were too many kinds of them.
    pub communicator: Option<CommunicatorClass>,
    /// The least length in bytes of the calls, which are shorter than twice of that; null if it is not known.
    pub bytes: Option<SizeClass>,
    /// The type of elements, such as `float64` or `int32`; `derived` for those that the program made.
    pub datatype: Option<String>,
    /// The operator of a reduction, such as `sum`; `commutative` or `noncommutative` for those that the program made.
    pub operator: Option<String>,
    /// Whether the ranks that count for it give `MPI_IN_PLACE`.
    pub in_place: bool,
    /// The root; null if there is none.
    pub root: Option<Root>,
}

impl CallShape {
    /// What calls become that a bounded profile has no place for.
    #[must_use]
    pub fn other() -> Self {
        Self {
            collective: "other".to_owned(),
            form: Form::Blocking,
            communicator: None,
            bytes: None,
            datatype: None,
            operator: None,
            in_place: false,
            root: None,
        }
    }

    /// Whether calls of such a shape may have rules in tables; `None` for [`Self::other`], which calls of any kind become.
    #[must_use]
    pub fn is_served(&self) -> Option<bool> {
        if *self == Self::other() {
            return None;
        }
        Some(match self.form {
            Form::Blocking => !self.is_neighbourhood(),
            Form::Nonblocking => {
                let mut with_rules = NONBLOCKING.iter();
                with_rules.any(|collective| collective.name() == self.collective)
            }
            Form::Persistent => false,
        })
    }

    /// Whether ranks communicate with their neighbours in a topology only.
    #[must_use]
    pub fn is_neighbourhood(&self) -> bool {
        self.collective.starts_with("neighbor_")
    }
}
