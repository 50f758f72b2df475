//! A reduce-scatter on every node, an allreduce in every lane at once, an allgather on every node.

use crate::phases::{PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter, allgather, reduce_scatter};

/// Costs the sum of its parts. With `q` ranks a node each of the `q` lanes, of the ranks with one local
/// rank, combines a q-th of the vector, so that all ranks of a node send and receive between nodes at once.
///
/// All nodes must have the same number of ranks.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "lanes",
    summary: "a reduce-scatter on every node, an allreduce of each part between nodes, an allgather on every node",
    source: "Träff, Hunold, CLUSTER 2020",
    ordered: false,
    ordered_at_ends: false,
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase::of_node(&[
            reduce_scatter::circulant::ALGORITHM,
            reduce_scatter::ring::ALGORITHM,
        ]),
        Phase::between_nodes(&[
            super::recursive_doubling::ALGORITHM,
            super::rabenseifner::ALGORITHM,
            super::circulant::ALGORITHM,
            super::ring::ALGORITHM,
        ]),
        Phase::of_node(&[allgather::circulant::ALGORITHM, allgather::ring::ALGORITHM]),
    ],
    ..PHASED
};
