//! A broadcast among one rank or some of each node, then one on every node.

use crate::phases::{Among, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter, allgather, scatter};

/// Costs the sum of its parts: between nodes as few messages as there are nodes. With `k` leaders a node each brings a
/// k-th of the vector to its node, where an allgather among them follows.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "leaders",
    summary: "a broadcast among one rank of each node or some, then a broadcast on every node",
    source: "MPICH 2005 (smp); Graham, Shipman 2008; several leaders: after Bayatpour et al., SC'17",
    parameters: &[
        Parameter::Node,
        Parameter::Network,
        Parameter::Leaders,
        Parameter::Blocks,
        Parameter::Radix,
    ],
    phases: &[
        Phase::of_leaders(Among::RootNode, &[scatter::binomial::ALGORITHM]),
        Phase::between_nodes(&[
            super::binomial::ALGORITHM,
            super::knomial::ALGORITHM,
            super::scatter_allgather::ALGORITHM,
            super::chain::ALGORITHM,
            super::binary_pipelined::ALGORITHM,
        ]),
        Phase::of_leaders(Among::Node, &[allgather::circulant::ALGORITHM]),
        Phase::of_group(&[
            super::binomial::ALGORITHM,
            super::knomial::ALGORITHM,
            super::linear::ALGORITHM,
            super::chain::ALGORITHM,
        ]),
    ],
    ..PHASED
};
