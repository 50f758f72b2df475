//! The ranks with which MPI has started a program.

use std::fmt;

use crate::CommShape;
use crate::units::format_counted;

/// The ranks of `MPI_COMM_WORLD`, as a started program finds them.
///
/// Launchers do not always start what they were asked for: ranks that do not find each other, as under `srun` without
/// the PMI of their library, are worlds of one rank each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// Number of ranks.
    pub ranks: u32,
    /// The ranks on each node, in the order of the nodes' first ranks; empty if unknown.
    pub on_nodes: Vec<u32>,
}

impl World {
    /// Whether this world has the nodes and the ranks of a shape, and no others. Nodes that are unknown are not
    /// compared.
    pub fn is_exactly(&self, shape: CommShape) -> bool {
        let has_nodes = self.on_nodes.len() == shape.nodes as usize
            && self.on_nodes.iter().all(|ranks| *ranks == shape.ppn);
        self.ranks == shape.ranks() && (self.on_nodes.is_empty() || has_nodes)
    }

    /// Whether a communicator of this shape can be made of the first ranks of the first nodes. Nodes that are unknown
    /// are not compared.
    pub fn has_room_for(&self, shape: CommShape) -> bool {
        let first = self.on_nodes.get(..shape.nodes as usize);
        let has_nodes = first.is_some_and(|nodes| nodes.iter().all(|ranks| *ranks >= shape.ppn));
        self.ranks >= shape.ranks() && (self.on_nodes.is_empty() || has_nodes)
    }
}

impl fmt::Display for World {
    /// Displays it as in `4 ranks on 2 nodes (3 and 1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", format_counted(self.ranks, "rank"))?;
        let Some((last, others)) = self.on_nodes.split_last() else {
            return Ok(());
        };
        let nodes = u32::try_from(self.on_nodes.len()).unwrap_or(u32::MAX);
        write!(f, " on {}", format_counted(nodes, "node"))?;
        if others.iter().all(|ranks| ranks == last) {
            return Ok(());
        }
        let others: Vec<String> = others.iter().map(u32::to_string).collect();
        write!(f, " ({} and {last})", others.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::{CommShape, World};

    fn world(on_nodes: &[u32]) -> World {
        World {
            ranks: on_nodes.iter().sum(),
            on_nodes: on_nodes.to_vec(),
        }
    }

    fn shape(nodes: u32, ppn: u32) -> CommShape {
        CommShape { nodes, ppn }
    }

    #[test]
    fn a_world_is_one_shape_and_holds_smaller_ones() {
        let check = |on_nodes: &[u32], asked, is, holds| {
            let world = world(on_nodes);
            assert_eq!(
                (world.is_exactly(asked), world.has_room_for(asked)),
                (is, holds),
                "{on_nodes:?} {asked}"
            );
        };
        check(&[2, 2], shape(2, 2), true, true);
        check(&[2, 2], shape(1, 2), false, true);
        check(&[2, 2], shape(1, 4), false, false);
        check(&[4], shape(2, 2), false, false);
        check(&[1], shape(1, 2), false, false);
        check(&[3, 1], shape(2, 2), false, false);
        check(&[2, 3], shape(2, 2), false, true);
        check(&[1; 4], shape(2, 2), false, false);
    }

    #[test]
    fn nodes_that_are_unknown_are_not_compared() {
        let of_ranks = |ranks| World {
            ranks,
            on_nodes: Vec::new(),
        };
        assert!(of_ranks(4).is_exactly(shape(2, 2)) && of_ranks(4).has_room_for(shape(1, 2)));
        assert!(!of_ranks(1).is_exactly(shape(1, 2)) && !of_ranks(1).has_room_for(shape(1, 2)));
        assert!(!of_ranks(4).is_exactly(shape(1, 2)));
    }

    #[test]
    fn a_world_is_displayed_with_its_nodes() {
        assert_eq!(world(&[1]).to_string(), "1 rank on 1 node");
        assert_eq!(world(&[2, 2]).to_string(), "4 ranks on 2 nodes");
        assert_eq!(
            world(&[3, 1, 2]).to_string(),
            "6 ranks on 3 nodes (3, 1 and 2)"
        );
        let unknown = World {
            ranks: 3,
            on_nodes: Vec::new(),
        };
        assert_eq!(unknown.to_string(), "3 ranks");
    }
}
