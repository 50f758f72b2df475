//! The placement of a communicator's ranks on nodes.
//!
//! Nodes are part of a call's shape, and the code that makes a schedule provides them: cells of a campaign in block order,
//! simulations as their topology has them, the driver and programs as they find them on their communicator.

use std::sync::Arc;

use crate::Rank;

/// The placement of ranks, as part of a request.
#[derive(Clone, Copy, Debug, Default)]
pub enum Placed<'a> {
    /// All ranks on one node.
    #[default]
    Together,
    /// Consecutive ranks fill a node before the next one; the last may have fewer.
    Block {
        /// Ranks that fill a node.
        per_node: u32,
    },
    /// Rank `r` is on node `r mod nodes`.
    Cyclic {
        /// Number of nodes.
        nodes: u32,
    },
    /// A discovered placement.
    On(&'a Nodes),
}

impl Placed<'_> {
    /// The nodes of this many ranks; `None` if a number is zero, or a discovered placement has another number of ranks.
    pub fn resolve_nodes(self, ranks: u32) -> Option<Nodes> {
        let order = match self {
            Self::Together => return Some(Nodes::one_node(ranks)),
            Self::Block { per_node: 0 } | Self::Cyclic { nodes: 0 } => return None,
            Self::Block { per_node } => Order::Block {
                per_node: per_node.min(ranks.max(1)),
            },
            Self::Cyclic { nodes } => Order::Cyclic {
                nodes: nodes.min(ranks.max(1)),
            },
            Self::On(nodes) => return (nodes.ranks == ranks).then(|| nodes.clone()),
        };
        Some(Nodes { ranks, order })
    }
}

/// The nodes of a communicator in the order of their first ranks, with the ranks of each in ascending order.
///
/// Rank number `local` on a node has that local rank. Block and cyclic order are computed, so a million ranks need no
/// table; every query takes constant time in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    ranks: u32,
    order: Order,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Order {
    Block { per_node: u32 },
    Cyclic { nodes: u32 },
    Listed(Arc<NodeList>),
}

/// Nodes with an irregular placement.
#[derive(Debug, PartialEq, Eq)]
struct NodeList {
    /// The node and the local rank of each rank.
    places: Vec<(u32, u32)>,
    /// The ranks of the first node, then those of the next.
    ranks: Vec<Rank>,
    /// The start of each node among these, and the end.
    starts: Vec<u32>,
    are_consecutive: bool,
    largest: u32,
    smallest: u32,
}

impl Nodes {
    /// The nodes of ranks with these labels; ranks with equal labels share a node.
    pub fn from_labels(labels: &[u32]) -> Self {
        let mut known = std::collections::HashMap::new();
        let mut members: Vec<Vec<Rank>> = Vec::new();
        let mut places = Vec::with_capacity(labels.len());
        for (rank, label) in (0..).zip(labels) {
            let node = *known.entry(*label).or_insert(members.len());
            if node == members.len() {
                members.push(Vec::new());
            }
            places.push((node as u32, members[node].len() as u32));
            members[node].push(rank);
        }
        let mut starts = vec![0];
        for node in &members {
            starts.push(starts[starts.len() - 1] + node.len() as u32);
        }
        let sizes: Vec<u32> = members.iter().map(|node| node.len() as u32).collect();
        let largest = sizes.iter().max().copied().unwrap_or(1);
        let smallest = sizes.iter().min().copied().unwrap_or(1);
        let listed = Self {
            ranks: labels.len() as u32,
            order: Order::Listed(Arc::new(NodeList {
                ranks: members.concat(),
                are_consecutive: members.concat().is_sorted(),
                largest,
                smallest,
                places,
                starts,
            })),
        };
        // A regular placement that is equivalent is cheaper.
        let rules = [
            Placed::Block { per_node: largest },
            Placed::Cyclic {
                nodes: sizes.len().max(1) as u32,
            },
        ];
        let rules = rules
            .into_iter()
            .filter_map(|rule| rule.resolve_nodes(listed.ranks));
        let mut same = rules.filter(|nodes| {
            (0..listed.ranks).all(|rank| nodes.place_of_rank(rank) == listed.place_of_rank(rank))
        });
        same.next().unwrap_or(listed)
    }

    /// The nodes with these lists of ranks, which contain all ranks from 0.
    pub fn from_rank_lists(nodes: &[Vec<Rank>]) -> Self {
        let mut labels = vec![0; nodes.iter().map(Vec::len).sum()];
        for (label, ranks) in (0..).zip(nodes) {
            for rank in ranks {
                if let Some(place) = labels.get_mut(*rank as usize) {
                    *place = label;
                }
            }
        }
        Self::from_labels(&labels)
    }

    /// One node of this many ranks.
    pub fn one_node(ranks: u32) -> Self {
        Self {
            ranks,
            order: Order::Block {
                per_node: ranks.max(1),
            },
        }
    }

    /// Ranks of the communicator.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Number of nodes.
    pub fn node_count(&self) -> u32 {
        match &self.order {
            Order::Block { per_node } => self.ranks.div_ceil(*per_node),
            Order::Cyclic { nodes } => *nodes,
            Order::Listed(list) => list.starts.len() as u32 - 1,
        }
    }

    /// The node of a rank, and its local rank.
    pub fn place_of_rank(&self, rank: Rank) -> (u32, u32) {
        match &self.order {
            Order::Block { per_node } => (rank / per_node, rank % per_node),
            Order::Cyclic { nodes } => (rank % nodes, rank / nodes),
            Order::Listed(list) => list.places[rank as usize],
        }
    }

    /// The number of ranks on a node.
    pub fn node_size(&self, node: u32) -> u32 {
        match &self.order {
            Order::Block { per_node } => (self.ranks - node * per_node).min(*per_node),
            Order::Cyclic { nodes } => (self.ranks - node).div_ceil(*nodes),
            Order::Listed(list) => list.starts[node as usize + 1] - list.starts[node as usize],
        }
    }

    /// The rank with a local rank on a node.
    pub fn rank_at(&self, node: u32, local: u32) -> Rank {
        match &self.order {
            Order::Block { per_node } => node * per_node + local,
            Order::Cyclic { nodes } => local * nodes + node,
            Order::Listed(list) => list.ranks[(list.starts[node as usize] + local) as usize],
        }
    }

    /// The number of ranks on the fullest node.
    pub fn largest_node_size(&self) -> u32 {
        match &self.order {
            Order::Block { per_node } => *per_node,
            Order::Cyclic { nodes } => self.ranks.div_ceil(*nodes),
            Order::Listed(list) => list.largest,
        }
    }

    /// Ranks on the node with the fewest.
    pub fn smallest_node_size(&self) -> u32 {
        match &self.order {
            Order::Block { .. } | Order::Cyclic { .. } => {
                self.node_size(self.node_count().saturating_sub(1))
            }
            Order::Listed(list) => list.smallest,
        }
    }

    /// Whether all nodes have the same number of ranks.
    pub fn are_alike(&self) -> bool {
        u64::from(self.ranks) == u64::from(self.node_count()) * u64::from(self.largest_node_size())
    }

    /// Whether the ranks of every node are consecutive, which combining in rank order requires.
    pub fn are_consecutive(&self) -> bool {
        match &self.order {
            Order::Block { .. } => true,
            Order::Cyclic { nodes } => *nodes == 1 || *nodes == self.ranks,
            Order::Listed(list) => list.are_consecutive,
        }
    }

    /// Whether rank `r` is on node `r mod n` of `n`.
    pub fn are_cyclic(&self) -> bool {
        match self.order {
            Order::Block { per_node } => per_node == 1 || per_node == self.ranks,
            Order::Cyclic { .. } => true,
            Order::Listed(_) => false,
        }
    }

    /// Whether there are several nodes, and several ranks on one of them.
    pub fn are_levels(&self) -> bool {
        (2..self.ranks).contains(&self.node_count())
    }
}
