//! The placement of ranks on nodes.

use exec::{Communicator, ExecError};
use vocabulary::{CommShape, World};

use crate::error::DriverError;

/// The nodes of a launch, in the order of their first ranks.
#[derive(Debug)]
pub(crate) struct Topology {
    /// The world rank of the first rank on each node.
    pub(crate) leaders: Vec<u32>,
    /// The world ranks on each node, in rank order.
    nodes: Vec<Vec<u32>>,
}

impl Topology {
    /// Discovers the nodes. Collective.
    pub(crate) fn discover(world: &Communicator, node: &Communicator) -> Result<Self, ExecError> {
        let mut leader = world.rank().to_le_bytes().to_vec();
        node.broadcast_bytes(&mut leader, 0)?;
        let leader = leader.try_into().map_or(0, u32::from_le_bytes);
        // Every rank writes its leader to its own slot; zero means not written.
        let mut leader_of = vec![0.0; world.size() as usize];
        leader_of[world.rank() as usize] = f64::from(leader) + 1.0;
        world.maximum_over_ranks(&mut leader_of)?;
        let leader_of: Vec<u32> = leader_of
            .into_iter()
            .map(|named| named as u32 - 1)
            .collect();
        let leaders: Vec<u32> = (0..world.size())
            .filter(|rank| leader_of[*rank as usize] == *rank)
            .collect();
        let nodes = leaders
            .iter()
            .map(|node_leader| {
                let is_there = |rank: &u32| leader_of[*rank as usize] == *node_leader;
                (0..world.size()).filter(is_there).collect()
            })
            .collect();
        Ok(Self { leaders, nodes })
    }

    /// The world ranks that take part in a cell of the shape, in rank order; the same on all ranks. `None` if the launch
    /// has fewer nodes or ranks.
    pub(crate) fn members_for_shape(&self, shape: CommShape) -> Option<Vec<u32>> {
        let (count, ppn) = (shape.nodes as usize, shape.ppn as usize);
        let nodes = self.nodes.get(..count)?;
        let mut members = Vec::with_capacity(count * ppn);
        for node in nodes {
            members.extend(node.get(..ppn)?);
        }
        members.sort_unstable();
        Some(members)
    }

    /// The indices in `members` of the ranks on each node.
    pub(crate) fn nodes_among(&self, members: &[u32]) -> Vec<Vec<u32>> {
        let among = |node: &Vec<u32>| {
            let places = members.iter().zip(0..);
            let there = places.filter(|(member, _)| node.contains(member));
            there.map(|(_, place)| place).collect::<Vec<u32>>()
        };
        let nodes = self.nodes.iter().map(among);
        nodes.filter(|node| !node.is_empty()).collect()
    }

    /// The shape of the whole launch: all nodes, and the ranks of the fullest node.
    pub(crate) fn launch_shape(&self) -> CommShape {
        let ppn = self.nodes.iter().map(Vec::len).max().unwrap_or(0);
        CommShape {
            nodes: self.nodes.len() as u32,
            ppn: ppn as u32,
        }
    }

    /// The ranks that were started.
    pub(crate) fn world(&self) -> World {
        let on_nodes: Vec<u32> = self.nodes.iter().map(|node| node.len() as u32).collect();
        World {
            ranks: on_nodes.iter().sum(),
            on_nodes,
        }
    }

    /// The error that this shape needs other ranks than were started.
    pub(crate) fn small_world_error(&self, needed: CommShape) -> DriverError {
        DriverError::SmallWorld {
            found: self.world(),
            needed,
        }
    }

    /// World ranks on each node, in rank order.
    pub(crate) fn nodes(&self) -> &[Vec<u32>] {
        &self.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::Topology;
    use vocabulary::CommShape;

    #[test]
    fn members_are_the_first_ranks_of_the_first_nodes() {
        let topology = Topology {
            leaders: vec![0, 1],
            nodes: vec![vec![0, 2, 4], vec![1, 3]],
        };
        let check = |nodes, ppn, expected: Option<&[u32]>| {
            let shape = CommShape { nodes, ppn };
            let members = topology.members_for_shape(shape);
            assert_eq!(members.as_deref(), expected, "{shape}");
            assert_eq!(
                topology.world().has_room_for(shape),
                expected.is_some(),
                "{shape}"
            );
        };
        check(1, 1, Some(&[0]));
        check(1, 3, Some(&[0, 2, 4]));
        check(2, 2, Some(&[0, 1, 2, 3]));
        check(2, 3, None);
        check(3, 1, None);
    }

    #[test]
    fn ranks_of_a_task_stand_on_the_nodes_of_their_world_ranks() {
        let topology = Topology {
            leaders: vec![0, 1],
            nodes: vec![vec![0, 2, 4], vec![1, 3]],
        };
        let check = |members: &[u32], expected: &[Vec<u32>]| {
            assert_eq!(topology.nodes_among(members), expected);
        };
        check(&[0, 1, 2, 3], &[vec![0, 2], vec![1, 3]]);
        check(&[0, 2, 4], &[vec![0, 1, 2]]);
    }
}
