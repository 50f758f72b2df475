//! A reduce on every node, an allreduce among one rank or some of each, a broadcast on every node.

use crate::phases::{Among, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter, allgather, bcast, reduce, reduce_scatter};

/// Costs the sum of its parts: between nodes as few messages as there are nodes, of the whole vector. With `k`
/// leaders a node each combines a k-th of it between nodes, after a reduce-scatter among those of its node.
///
/// Combines in rank order if its parts do and the ranks of every node are consecutive.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "leaders",
    summary: "a reduce on every node, an allreduce among one rank of each or some, a broadcast on every node",
    source: "MPICH 2005 (smp); Graham, Shipman 2008; several leaders: Bayatpour et al., SC'17",
    parameters: &[
        Parameter::Node,
        Parameter::Network,
        Parameter::Leaders,
        Parameter::Blocks,
    ],
    phases: &[
        Phase::of_group(
            Collective::Reduce,
            &[reduce::binomial::ALGORITHM.id, reduce::linear::ALGORITHM.id],
        ),
        Phase::of_leaders(
            Among::Node,
            Collective::ReduceScatter,
            &[reduce_scatter::butterfly::ALGORITHM.id],
        ),
        Phase::between(
            Collective::Allreduce,
            &[
                super::recursive_doubling::ALGORITHM.id,
                super::rabenseifner::ALGORITHM.id,
                super::circulant::ALGORITHM.id,
                super::ring::ALGORITHM.id,
            ],
        ),
        Phase::of_leaders(
            Among::Node,
            Collective::Allgather,
            &[allgather::circulant::ALGORITHM.id],
        ),
        Phase::of_group(
            Collective::Bcast,
            &[bcast::binomial::ALGORITHM.id, bcast::linear::ALGORITHM.id],
        ),
    ],
    ..PHASED
};
