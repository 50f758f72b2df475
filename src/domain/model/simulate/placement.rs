//! The placement of a communicator's ranks on nodes.

use schedule::{Placed, Rank};
use vocabulary::Placement;

use crate::Level;

/// Nodes and the ranks on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    nodes: u32,
    ranks_per_node: u32,
    placement: Placement,
}

impl Topology {
    /// `nodes` with at most `ranks_per_node` on each; 0 counts as 1. If there are fewer ranks, the last nodes have
    /// fewer.
    pub fn new(nodes: u32, ranks_per_node: u32, placement: Placement) -> Self {
        Self {
            nodes: nodes.max(1),
            ranks_per_node: ranks_per_node.max(1),
            placement,
        }
    }

    /// The smallest number of nodes that holds `ranks`.
    pub fn of_ranks(ranks: u32, ranks_per_node: u32, placement: Placement) -> Self {
        Self::new(
            ranks.div_ceil(ranks_per_node.max(1)),
            ranks_per_node,
            placement,
        )
    }

    /// Every rank on its own node.
    pub fn one_rank_per_node(ranks: u32) -> Self {
        Self::new(ranks, 1, Placement::Block)
    }

    /// The placement for a schedule.
    pub fn placed(&self) -> Placed<'static> {
        match self.placement {
            Placement::Block => Placed::Block {
                per_node: self.ranks_per_node,
            },
            Placement::Cyclic => Placed::Cyclic { nodes: self.nodes },
        }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The largest number of ranks.
    pub fn ranks(&self) -> u64 {
        u64::from(self.nodes) * u64::from(self.ranks_per_node)
    }

    /// The node of a rank, which is below [`Topology::nodes`] if there is room for it.
    pub fn node_of_rank(&self, rank: Rank) -> u32 {
        match self.placement {
            Placement::Block => rank / self.ranks_per_node,
            Placement::Cyclic => rank % self.nodes,
        }
    }

    /// The index of a rank among those of its node.
    pub fn place_on_node(&self, rank: Rank) -> u32 {
        match self.placement {
            Placement::Block => rank % self.ranks_per_node,
            Placement::Cyclic => rank / self.nodes,
        }
    }

    /// The number of consecutive ranks on each node, if neighbours share nodes.
    pub(crate) fn ranks_per_block(&self) -> Option<u32> {
        (self.placement == Placement::Block).then_some(self.ranks_per_node)
    }

    /// The number of nodes, if neighbours are on different nodes.
    pub(crate) fn cyclic_nodes(&self) -> Option<u32> {
        (self.placement == Placement::Cyclic).then_some(self.nodes)
    }

    /// The level of all messages among the first `ranks` ranks, if it is the same for all.
    pub fn only_level(&self, ranks: u32) -> Option<Level> {
        let per_node = match self.placement {
            Placement::Block => self.ranks_per_node.min(ranks),
            Placement::Cyclic => ranks.div_ceil(self.nodes),
        };
        match per_node {
            1 => Some(Level::Network),
            _ if self.nodes == 1 || per_node == ranks => Some(Level::Node),
            _ => None,
        }
    }
}
