//! What a simulated campaign needs of its machine.

use schedule::Collective;
use vocabulary::{CommShape, Through};

use crate::{Machine, MachineError};

/// What is to be simulated on a machine.
#[derive(Clone, Debug)]
pub struct MachineNeeds<'a> {
    /// The shapes of communicators.
    pub shapes: &'a [CommShape],
    /// The transports of messages between ranks of one node.
    pub transports: &'a [Through],
    /// The collectives.
    pub collectives: Vec<Collective>,
}

impl Machine {
    /// Checks that the machine has all parameters that are needed.
    ///
    /// # Errors
    /// [`MachineError::NodeTooSmall`], [`MachineError::Lacks`]: the first need that is not met.
    pub fn check_suffices(&self, needs: &MachineNeeds<'_>) -> Result<(), MachineError> {
        let lacks = |key, needed_by: String| MachineError::Lacks {
            machine: self.name.clone(),
            key,
            needed_by,
        };

        // Each shape must fit on the nodes, and have a link for each pair of its ranks.
        for &shape in needs.shapes {
            if shape.ppn > self.ranks_per_node {
                return Err(MachineError::NodeTooSmall {
                    machine: self.name.clone(),
                    ranks_per_node: self.ranks_per_node,
                    shape,
                });
            }
            if shape.nodes > 1 && self.network.is_none() {
                return Err(lacks("network", format!("the shape {shape}")));
            }
            if shape.ppn > 1 && self.node.is_none() {
                return Err(lacks("node", format!("the shape {shape}")));
            }
        }

        // Shared memory has no messages where each rank is alone on its node.
        let shares_nodes = needs.shapes.iter().any(|shape| shape.ppn > 1);
        if shares_nodes && needs.transports.contains(&Through::Shared) && self.shared.is_none() {
            return Err(lacks("shared", "`through: shared`".to_owned()));
        }

        // Only reductions combine data.
        let reduction = needs.collectives.iter().find(|of| of.is_reduction());
        match reduction {
            Some(collective) if self.gamma.is_none() => {
                Err(lacks("gamma", collective.name().to_owned()))
            }
            _ => Ok(()),
        }
    }
}
