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
        Phase::of_leaders(
            Among::RootNode,
            Collective::Scatter,
            &[scatter::binomial::ALGORITHM.id],
        ),
        Phase::between(
            Collective::Bcast,
            &[
                super::binomial::ALGORITHM.id,
                super::knomial::ALGORITHM.id,
                super::scatter_allgather::ALGORITHM.id,
                super::chain::ALGORITHM.id,
                super::binary_pipelined::ALGORITHM.id,
            ],
        ),
        Phase::of_leaders(
            Among::Node,
            Collective::Allgather,
            &[allgather::circulant::ALGORITHM.id],
        ),
        Phase::of_group(
            Collective::Bcast,
            &[
                super::binomial::ALGORITHM.id,
                super::knomial::ALGORITHM.id,
                super::linear::ALGORITHM.id,
                super::chain::ALGORITHM.id,
            ],
        ),
    ],
    ..PHASED
};
