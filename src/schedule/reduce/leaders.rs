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
        Phase::of_group(
            Collective::Reduce,
            &[
                super::binomial::ALGORITHM.id,
                super::linear::ALGORITHM.id,
                super::chain::ALGORITHM.id,
            ],
        ),
        Phase::of_leaders(
            Among::Node,
            Collective::ReduceScatter,
            &[reduce_scatter::butterfly::ALGORITHM.id],
        ),
        Phase::between(
            Collective::Reduce,
            &[
                super::binomial::ALGORITHM.id,
                super::rabenseifner::ALGORITHM.id,
                super::chain::ALGORITHM.id,
                super::binary_pipelined::ALGORITHM.id,
            ],
        ),
        Phase::of_leaders(
            Among::RootNode,
            Collective::Gather,
            &[gather::binomial::ALGORITHM.id],
        ),
    ],
    ..PHASED
};
