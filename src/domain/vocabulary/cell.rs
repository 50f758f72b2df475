//! Cells, in which candidates are compared.

use std::fmt;

use schedule::{Collective, Distribution, Placed, Request};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use strum_macros::IntoStaticStr;

use crate::Parameters;
use crate::bounds::{self, RANKS};

/// The numbers of nodes and of ranks on each that a communicator has.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Counts")]
#[cfg_attr(feature = "schema", schemars(!try_from))]
pub struct CommShape {
    /// Number of nodes.
    pub nodes: u32,
    /// Ranks on each node.
    pub ppn: u32,
}

/// A shape as written in files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    nodes: u32,
    ppn: u32,
}

impl TryFrom<Counts> for CommShape {
    type Error = String;

    fn try_from(Counts { nodes, ppn }: Counts) -> Result<Self, String> {
        Self::try_new(nodes, ppn).ok_or_else(|| format!("{nodes}x{ppn} is not {RANKS}"))
    }
}

impl CommShape {
    /// The shape, if its number of ranks is within [`RANKS`].
    pub fn try_new(nodes: u32, ppn: u32) -> Option<Self> {
        let ranks = nodes.checked_mul(ppn)?;
        RANKS.contains(ranks).then_some(Self { nodes, ppn })
    }

    /// Number of ranks; saturates instead of overflowing.
    pub fn ranks(self) -> u32 {
        self.nodes.saturating_mul(self.ppn)
    }

    /// Whether ranks can have different orders on the nodes: there are several nodes with several ranks each.
    pub fn has_orders(self) -> bool {
        self.nodes > 1 && self.ppn > 1
    }
}

impl fmt::Display for CommShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}", self.nodes, self.ppn))
    }
}

/// The element type of a reduction; collectives that combine nothing move bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Datatype {
    /// Unsigned bytes, `MPI_BYTE`: data movement only.
    Byte,
    /// 8-bit signed integers, `MPI_INT8_T`: in imported measurements only.
    Int8,
    /// 32-bit signed integers, `MPI_INT32_T`.
    Int32,
    /// 64-bit signed integers, `MPI_INT64_T`.
    Int64,
    /// IEEE single precision, `MPI_FLOAT`.
    Float32,
    /// IEEE double precision, `MPI_DOUBLE`.
    Float64,
}

impl Datatype {
    /// Size of one element.
    pub const fn size_bytes(self) -> u64 {
        match self {
            Self::Byte | Self::Int8 => 1,
            Self::Int32 | Self::Float32 => 4,
            Self::Int64 | Self::Float64 => 8,
        }
    }

    /// The name used in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The operator of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Operator {
    /// `MPI_SUM`.
    Sum,
    /// `MPI_MAX`.
    Max,
    /// A user-defined operator that does not commute: `MPI_Op_create` with `commute = 0`.
    ///
    /// An element represents the function `a x + b`, with two unsigned numbers `a` and `b` of half its bits each, for
    /// every datatype. The operator composes functions, the left one last, with wrap-around: it is associative, and
    /// another order gives another result.
    Noncommutative,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Self; 3] = [Self::Sum, Self::Max, Self::Noncommutative];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether operands may be exchanged.
    pub const fn commutes(self) -> bool {
        !matches!(self, Self::Noncommutative)
    }
}

/// One point of a campaign: a collective, the ranks, and the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The collective; serialized by name.
    #[serde(with = "collective_name")]
    pub collective: Collective,
    /// The shape of the communicator.
    pub shape: CommShape,
    /// Length of the call in bytes, a multiple of the datatype's size. Where [`Collective::is_sized_by_part`], that of
    /// one rank's part (contribution, result, or the block for one rank of an alltoall, on average of an alltoallv);
    /// otherwise that of the whole vector, which is one rank's input in a scan; 0 without [`Collective::has_data`].
    #[serde(deserialize_with = "bounds::bytes")]
    pub bytes: u64,
    /// Element type: [`Datatype::Byte`] where nothing is combined.
    pub datatype: Datatype,
    /// The operator; `None` where nothing is combined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Operator>,
    /// The distribution of the data over parts or blocks; uniform unless [`Collective::is_irregular`].
    #[serde(
        default,
        with = "distribution_name",
        skip_serializing_if = "Distribution::is_uniform"
    )]
    pub distribution: Distribution,
}

impl Cell {
    /// Whether contributions may be combined in any order; true where nothing is combined.
    pub fn commutes(&self) -> bool {
        self.operator.is_none_or(Operator::commutes)
    }

    /// Whether such a call is possible: whole elements and, for reductions, an operator and numbers.
    pub fn is_possible(&self) -> bool {
        let reduces = self.collective.is_reduction();
        reduces == self.operator.is_some()
            && reduces == (self.datatype != Datatype::Byte)
            && self.bytes.is_multiple_of(self.datatype.size_bytes())
            && (self.collective.has_data() || self.bytes == 0)
            && (self.collective.is_irregular() || self.distribution.is_uniform())
    }

    /// Bytes of the whole vector, of which all buffers of the call are pieces (in an alltoall, one rank's blocks for
    /// all ranks); saturates instead of overflowing.
    pub fn vector_bytes(&self) -> u64 {
        if self.collective.is_sized_by_part() {
            self.bytes.saturating_mul(self.shape.ranks().into())
        } else {
            self.bytes
        }
    }

    /// The request for a schedule, with root 0 and consecutive ranks on a node, in units of elements.
    pub fn schedule_request<'a>(&self, parameters: &'a Parameters) -> Request<'a> {
        let unit_bytes = self.datatype.size_bytes();
        Request {
            units: self.bytes.div_ceil(unit_bytes),
            parameters: parameters.in_units(unit_bytes),
            commutative: self.commutes(),
            distribution: self.distribution,
            placed: Placed::Block {
                per_node: self.shape.ppn,
            },
            ..Request::among_ranks(self.shape.ranks())
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            collective,
            shape,
            bytes,
            datatype,
            operator,
            distribution,
        } = self;
        write!(f, "{collective} {shape}")?;
        if collective.has_data() {
            write!(f, " {bytes} bytes")?;
        }
        match collective {
            Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => {
                f.write_str(" a block")?;
            }
            _ if collective.is_sized_by_part() => f.write_str(" a rank")?,
            _ => {}
        }
        if let Some(operator) = operator {
            write!(f, " of {} {}", datatype.name(), operator.name())?;
        }
        if distribution.is_uniform() {
            Ok(())
        } else {
            write!(f, ", {}", distribution.name())
        }
    }
}

/// Serializes a [`Collective`] by its name, for `#[serde(with = "...")]`.
pub mod collective_name {
    use schedule::{Collective, UnknownCollective};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes the name.
    ///
    /// # Errors
    /// The serializer's own.
    pub fn serialize<S: Serializer>(value: &Collective, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(value.name())
    }

    /// Reads the name.
    ///
    /// # Errors
    /// An unknown name, with the known ones.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Collective, D::Error> {
        let name = String::deserialize(from)?;
        Collective::from_name(&name).ok_or_else(|| D::Error::custom(UnknownCollective(name)))
    }

    /// The JSON schema of the name, which lists all of them, for `#[schemars(schema_with = "...")]`.
    #[cfg(feature = "schema")]
    pub fn list_in_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names = Collective::ALL.map(Collective::name);
        schemars::json_schema!({"type": "string", "enum": names})
    }
}

/// Serializes a [`Distribution`] by its name, for `#[serde(with = "...")]`.
mod distribution_name {
    use schedule::Distribution;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &Distribution, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(value.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Distribution, D::Error> {
        distribution_with_name(&String::deserialize(from)?).map_err(D::Error::custom)
    }

    /// The distribution with a name, or what is wrong with the name.
    pub(super) fn distribution_with_name(name: &str) -> Result<Distribution, String> {
        Distribution::from_name(name).ok_or_else(|| {
            let known = Distribution::ALL.map(Distribution::name).join(", ");
            format!("unknown distribution `{name}`; known: {known}")
        })
    }
}

/// Reads a list of [`Distribution`]s by their names, for `#[serde(deserialize_with = "...")]`.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn read_distributions<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<Distribution>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    let named = names
        .iter()
        .map(|name| distribution_name::distribution_with_name(name));
    named.collect::<Result<_, _>>().map_err(D::Error::custom)
}
