//! The order of a communicator's ranks on its nodes.

use serde::{Deserialize, Serialize, Serializer};
use strum_macros::{Display, IntoStaticStr};

use crate::CommShape;

/// The order of the ranks of a communicator on its `n` nodes, which are numbered by their first ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize, Deserialize, IntoStaticStr, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RankOrder {
    /// Consecutive ranks fill a node before the next one. One node, or one rank per node, is in this order.
    Block,
    /// Rank `r` is on node `r mod n`.
    Cyclic,
    /// Neither of the two.
    Other,
    /// Not recorded: it matches any.
    #[default]
    Unknown,
}

impl RankOrder {
    /// Every order that can be detected.
    pub const KNOWN: [Self; 3] = [Self::Block, Self::Cyclic, Self::Other];

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it is unknown.
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }

    /// The order, unless it is unknown.
    pub fn if_known(self) -> Option<Self> {
        (!self.is_unknown()).then_some(self)
    }

    /// Serializes the order, or nothing if it is unknown.
    pub fn serialize_known<S: Serializer>(order: &Self, to: S) -> Result<S::Ok, S::Error> {
        order.if_known().serialize(to)
    }

    /// Whether both may be the same; an unknown order may be any.
    pub fn may_be(self, other: Self) -> bool {
        self == other || self.is_unknown() || other.is_unknown()
    }

    /// The order on a shape: with one node, or one rank per node, any known order is [`RankOrder::Block`].
    pub fn on_shape(self, shape: CommShape) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            _ if !shape.has_orders() => Self::Block,
            known => known,
        }
    }

    /// The order, if it is known and makes a difference on a shape.
    pub fn known_on_shape(self, shape: CommShape) -> Option<Self> {
        self.if_known().filter(|_| shape.has_orders())
    }

    /// The order of a communicator, given whether all its ranks are placed as in block order, and as in cyclic order.
    pub fn from_checks(is_block: bool, is_cyclic: bool) -> Self {
        match (is_block, is_cyclic) {
            (true, _) => Self::Block,
            (false, true) => Self::Cyclic,
            (false, false) => Self::Other,
        }
    }

    /// The order of a communicator from the ranks on each of its nodes, ascending.
    pub fn from_nodes(nodes: &[Vec<u32>]) -> Self {
        let count = nodes.len() as u32;
        let places = || {
            nodes
                .iter()
                .flat_map(|ranks| RankPlace::of_node_ranks(ranks))
        };
        Self::from_checks(
            places().all(RankPlace::is_in_block),
            places().all(|place| place.is_in_turn(count)),
        )
    }
}

/// The place of one rank of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankPlace {
    /// The rank.
    pub rank: u32,
    /// The lowest rank on its node.
    pub first: u32,
    /// The number of lower ranks on its node.
    pub lower: u32,
}

impl RankPlace {
    /// The places of all ranks of one node, in ascending order.
    fn of_node_ranks(ranks: &[u32]) -> impl Iterator<Item = Self> {
        let numbered = ranks.iter().zip(0..);
        numbered.map(|(&rank, lower)| Self {
            rank,
            first: ranks[0],
            lower,
        })
    }

    /// Whether the rank follows those of its node without a gap, as all ranks do only in block order.
    pub fn is_in_block(self) -> bool {
        self.rank == self.first + self.lower
    }

    /// Whether the rank is on node `rank mod nodes`, as all ranks are only in cyclic order, or where the order makes no
    /// difference.
    pub fn is_in_turn(self, nodes: u32) -> bool {
        let turn = u64::from(self.first) + u64::from(self.lower) * u64::from(nodes);
        self.first < nodes && u64::from(self.rank) == turn
    }
}
