//! A reduce on every node, then one among one rank or some of each.

use crate::phases::{Among, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter, gather, reduce_scatter};

/// Costs the sum of its parts: between nodes as few messages as there are nodes. With `k` leaders a node each combines
/// a k-th of the vector between nodes, after a reduce-scatter among those of its node.
///
/// Combines in rank order if its parts do and the ranks of every node are consecutive.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "leaders",
    summary: "a reduce on every node, then a reduce among one rank of each or some",
    source: "MPICH 2005 (smp); Graham, Shipman 2008; several leaders: after Bayatpour et al., SC'17",
    parameters: &[
        Parameter::Node,
        Parameter::Network,
        Parameter::Leaders,
        Parameter::Blocks,
    ],
    phases: &[
        Phase::of_group(&[
            super::binomial::ALGORITHM,
            super::linear::ALGORITHM,
            super::chain::ALGORITHM,
        ]),
        Phase::of_leaders(Among::Node, &[reduce_scatter::butterfly::ALGORITHM]),
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
