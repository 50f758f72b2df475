//! The placement of a communicator's ranks on nodes.

use std::fmt;

use crate::RankOrder;

/// The order in which ranks are assigned to nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Neighbours share a node: each node is filled before the next one.
    #[default]
    Block,
    /// Neighbours are on different nodes: ranks are assigned to the nodes in turn.
    Cyclic,
}

impl Placement {
    /// Every placement.
    pub const ALL: [Self; 2] = [Self::Block, Self::Cyclic];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Cyclic => "cyclic",
        }
    }

    /// The placement used for an order of ranks. Block is also used for [`RankOrder::Other`] and
    /// [`RankOrder::Unknown`].
    pub const fn for_order(order: RankOrder) -> Self {
        match order {
            RankOrder::Cyclic => Self::Cyclic,
            RankOrder::Block | RankOrder::Other | RankOrder::Unknown => Self::Block,
        }
    }

    /// The order of ranks.
    pub const fn order(self) -> RankOrder {
        match self {
            Self::Block => RankOrder::Block,
            Self::Cyclic => RankOrder::Cyclic,
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
