//! The arguments of algorithms.

use crate::{Algorithm, Nodes, Parameter, Phase};

/// The number of a process within its communicator, from 0.
pub type Rank = u32;

/// The arguments of an algorithm: all that its communication depends on.
///
/// Programs of ranks that have the same shape match each other.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Ranks in the communicator, at least 1.
    pub ranks: u32,
    /// The root of a rooted collective; 0 otherwise.
    pub root: Rank,
    /// `MPI_IN_PLACE`. The layout makes input and output name the same memory; few algorithms need to know.
    pub in_place: bool,
    /// Pipeline blocks, at least 1; blocks beyond the data are empty.
    pub blocks: u32,
    /// One more than the number of a rank's children or partners on each level of a tree or an exchange: at least 2.
    pub radix: u32,
    /// The parts of a composed algorithm.
    pub parts: Parts,
    /// Which ranks share a node.
    pub nodes: Nodes,
    /// Ranks of each node that exchange data with other nodes, of an algorithm that knows nodes.
    pub leaders: u32,
    /// Sends, and receives, of a rank that may be under way at the same time, at least 1.
    pub max_requests: u32,
}

/// The inner algorithms of a composition.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The composition.
    pub of: &'static Algorithm,
    /// The inner reduce.
    pub reduce: &'static Algorithm,
    /// The inner broadcast.
    pub bcast: &'static Algorithm,
    /// The phases of an algorithm that knows nodes, in order.
    pub phases: [Option<(&'static Phase, &'static Algorithm)>; Phase::MOST],
}

impl Parts {
    /// The phases in order, with their algorithms.
    pub fn phases(&self) -> impl Iterator<Item = (&'static Phase, &'static Algorithm)> + use<> {
        self.phases.into_iter().flatten()
    }
}

impl Shape {
    /// The same call for an inner algorithm that works towards or from rank 0, with one block if it
    /// does not take blocks.
    pub(crate) fn of_part(&self, part: &Algorithm) -> Self {
        let blocks = if part.takes(Parameter::Blocks) {
            self.blocks
        } else {
            1
        };
        Self {
            root: 0,
            blocks,
            ..self.clone()
        }
    }
}

/// `ceil(log2 ranks)`: the rounds in which doubling reaches every rank.
pub(crate) fn log2_ceil(ranks: u32) -> u32 {
    ranks.next_power_of_two().trailing_zeros()
}
