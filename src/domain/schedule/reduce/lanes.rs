//! A reduce-scatter on every node, a reduce in every lane at once, a gather on the root's node.

use crate::phases::{Among, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter, gather, reduce_scatter};

/// Costs the sum of its parts. With `q` ranks a node each of the `q` lanes, of the ranks with one local rank, combines
/// a q-th of the vector. All nodes must have the same number of ranks.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "lanes",
    summary: "a reduce-scatter on every node, a reduce of each part between nodes, a gather on the root's node",
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
            super::binomial::ALGORITHM,
            super::rabenseifner::ALGORITHM,
            super::chain::ALGORITHM,
            super::binary_pipelined::ALGORITHM,
        ]),
        Phase::of_leaders(Among::RootNode, &[gather::binomial::ALGORITHM]),
    ],
    ..PHASED
};
