//! A scatter on the root's node, a broadcast in every lane at once, an allgather on every node.

use crate::phases::{Among, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter, allgather, scatter};

/// Costs the sum of its parts. With `q` ranks a node each of the `q` lanes, of the ranks with one local rank, moves a
/// q-th of the vector between nodes. All nodes must have the same number of ranks.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "lanes",
    summary: "a scatter on the root's node, a broadcast of each part between nodes, an allgather on every node",
    source: "Träff, Hunold, CLUSTER 2020",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase::of_leaders(Among::RootNode, &[scatter::binomial::ALGORITHM]),
        Phase::between_nodes(&[
            super::binomial::ALGORITHM,
            super::scatter_allgather::ALGORITHM,
            super::chain::ALGORITHM,
            super::binary_pipelined::ALGORITHM,
        ]),
        Phase::of_node(&[allgather::circulant::ALGORITHM, allgather::ring::ALGORITHM]),
    ],
    ..PHASED
};
