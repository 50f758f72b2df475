//! The operators and deployments that rules hold for, and those that queries ask for.

use serde::{Deserialize, Serialize};
use strum_macros::{Display, IntoStaticStr};
use vocabulary::Candidate;

/// The operators that a group of rules holds for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Operators {
    /// All operators, except commutative ones if an earlier entry has rules for these. Only ordered algorithms may be
    /// named. Library settings that do not tell operators apart get such an entry, made from measurements with
    /// commutative operators.
    Any,
    /// Commutative operators; unordered algorithms may be named.
    Commutative,
    /// Noncommutative operators, from measurements with such an operator; only ordered algorithms may be named.
    Noncommutative,
}

impl Operators {
    /// Whether some operators are in both.
    pub fn overlap(self, other: Self) -> bool {
        self == other || [self, other].contains(&Self::Any)
    }

    /// The operators in both, which must overlap.
    pub(crate) fn intersection(self, other: Self) -> Self {
        match self {
            Self::Any => other,
            narrow => narrow,
        }
    }

    /// Whether the rules hold for an operator of this class.
    pub fn hold_for(self, class: OperatorClass) -> bool {
        self.overlap(class.into())
    }
}

impl From<OperatorClass> for Operators {
    fn from(class: OperatorClass) -> Self {
        match class {
            OperatorClass::Commutative => Self::Commutative,
            OperatorClass::Noncommutative => Self::Noncommutative,
        }
    }
}

/// Whether the operator of a call commutes (`MPI_Op_commutative`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum OperatorClass {
    /// The operator commutes: contributions may be combined in any order.
    Commutative,
    /// The operator does not commute: contributions must be combined in rank order.
    Noncommutative,
}

impl OperatorClass {
    /// Every value.
    pub const ALL: [Self; 2] = [Self::Commutative, Self::Noncommutative];

    /// The class of the operators that commute, or of those that do not.
    pub const fn from_commutes(commutes: bool) -> Self {
        if commutes {
            Self::Commutative
        } else {
            Self::Noncommutative
        }
    }
}

/// The way in which a program uses a table, which limits the candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Deployment {
    /// Through colltune, which has every candidate.
    #[default]
    Colltune,
    /// Through the library's own settings, as exported: its default and its own algorithms.
    Library,
}

impl Deployment {
    /// Every value.
    pub const ALL: [Self; 2] = [Self::Colltune, Self::Library];

    /// Whether a candidate can be used in this way.
    pub const fn offers(self, candidate: &Candidate) -> bool {
        match self {
            Self::Colltune => true,
            Self::Library => matches!(candidate, Candidate::Default | Candidate::Native { .. }),
        }
    }
}

/// The origin of the rules of a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RuleSource {
    /// Measurements on that shape.
    #[default]
    Measured,
    /// The model: nothing was measured on that shape.
    Model,
    /// Interpolation between measured shapes; not in files.
    #[serde(skip)]
    Interpolated,
}

/// The deployments that a group of rules holds for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Deployments {
    /// All deployments: only the library's default and its own algorithms may be named.
    Any,
    /// Only through colltune.
    Colltune,
    /// Only through the library's own settings.
    Library,
}

impl Deployments {
    /// Whether some deployments are in both.
    pub fn overlap(self, other: Self) -> bool {
        self == other || [self, other].contains(&Self::Any)
    }

    /// Whether the rules hold for a deployment.
    pub fn hold_for(self, deployment: Deployment) -> bool {
        self.overlap(deployment.into())
    }

    /// Whether the rules may name a candidate.
    pub const fn may_name(self, candidate: &Candidate) -> bool {
        match self {
            Self::Colltune => Deployment::Colltune.offers(candidate),
            Self::Any | Self::Library => Deployment::Library.offers(candidate),
        }
    }
}

impl From<Deployment> for Deployments {
    fn from(deployment: Deployment) -> Self {
        match deployment {
            Deployment::Colltune => Self::Colltune,
            Deployment::Library => Self::Library,
        }
    }
}
