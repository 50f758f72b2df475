//! Which ranks stand on which node.

use exec::{Communicator, ExecError};
use wire::CommShape;

/// The nodes of a launch, in the order of their first ranks.
#[derive(Debug)]
pub(crate) struct Topology {
    /// World rank of the first rank on each node.
    pub(crate) leaders: Vec<u32>,
    /// Ranks on each node.
    ranks: Vec<u32>,
    /// This rank's node and its place there.
    place: (u32, u32),
}

impl Topology {
    /// Finds out. Collective.
    pub(crate) fn discover(world: &Communicator, node: &Communicator) -> Result<Self, ExecError> {
        let mut leader = world.rank().to_le_bytes().to_vec();
        node.share(&mut leader, 0)?;
        let leader = leader.try_into().map_or(0, u32::from_le_bytes);
        // Every rank names its leader in its own slot; zero means not yet named.
        let mut leader_of = vec![0.0; world.size() as usize];
        leader_of[world.rank() as usize] = f64::from(leader) + 1.0;
        world.maximum(&mut leader_of)?;
        let leader_of: Vec<u32> = leader_of
            .into_iter()
            .map(|named| named as u32 - 1)
            .collect();
        let leaders: Vec<u32> = (0..world.size())
            .filter(|rank| leader_of[*rank as usize] == *rank)
            .collect();
        let ranks = leaders
            .iter()
            .map(|leader| leader_of.iter().filter(|of| *of == leader).count() as u32)
            .collect();
        let mine = leaders
            .iter()
            .position(|other| *other == leader)
            .unwrap_or(0) as u32;
        Ok(Self {
            leaders,
            ranks,
            place: (mine, node.rank()),
        })
    }

    /// Whether this rank takes part in a cell of the shape; the same on all ranks: `Err` if the
    /// launch does not hold the shape.
    pub(crate) fn takes_part(&self, shape: CommShape) -> Result<bool, ShapeMissing> {
        let nodes = shape.nodes as usize;
        let holds = nodes <= self.ranks.len()
            && self.ranks[..nodes].iter().all(|ranks| *ranks >= shape.ppn);
        if !holds {
            return Err(ShapeMissing);
        }
        Ok(self.place.0 < shape.nodes && self.place.1 < shape.ppn)
    }
}

/// The launch does not have the nodes or ranks that a task asks for.
#[derive(Debug)]
pub(crate) struct ShapeMissing;
