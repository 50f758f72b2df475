//! Renumberings of the ranks under which a schedule stays the same.
//!
//! In a ring or a dissemination every rank does what rank 0 does, with other partners. A row of the registry can say so,
//! and a simulation then need not compare all programs of a million ranks to find it out. A test compares them for every
//! row that does, on every number of ranks that it can afford.

use crate::{Nodes, Rank};

/// A family of renumberings, one for every distance. The program of the rank that a renumbering takes rank `r` to is
/// that of rank `r` with partners renumbered in the same way, if all parts of the vector have the same size: the same
/// rounds, and in each the same actions on as many units, in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// Rank `r` becomes `r + d` modulo the number of ranks.
    Ranks,
    /// Rank `r` becomes `r xor d`, among a power of two.
    Bits,
    /// The rank with a local rank on node `n` becomes the rank with the same local rank on node `n + d`, modulo the
    /// number of nodes, which all have as many ranks.
    Nodes,
}

impl Translation {
    /// The rank that a rank becomes at a distance, which is below the number of ranks, or of nodes.
    pub fn renumber(self, rank: Rank, distance: u32, nodes: &Nodes) -> Rank {
        match self {
            Self::Ranks => add_modulo(rank, distance, nodes.ranks()),
            Self::Bits => rank ^ distance,
            Self::Nodes => {
                let (node, local) = nodes.place_of_rank(rank);
                nodes.rank_at(add_modulo(node, distance, nodes.node_count()), local)
            }
        }
    }
}

fn add_modulo(number: u32, distance: u32, all: u32) -> u32 {
    ((u64::from(number) + u64::from(distance)) % u64::from(all)) as u32
}
