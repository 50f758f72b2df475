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
        Phase::of_group(&[reduce::binomial::ALGORITHM, reduce::linear::ALGORITHM]),
        Phase::of_leaders(Among::Node, &[reduce_scatter::butterfly::ALGORITHM]),
        Phase::between_nodes(&[
            super::recursive_doubling::ALGORITHM,
            super::rabenseifner::ALGORITHM,
            super::circulant::ALGORITHM,
            super::ring::ALGORITHM,
        ]),
        Phase::of_leaders(Among::Node, &[allgather::circulant::ALGORITHM]),
        Phase::of_group(&[bcast::binomial::ALGORITHM, bcast::linear::ALGORITHM]),
    ],
    ..PHASED
};
