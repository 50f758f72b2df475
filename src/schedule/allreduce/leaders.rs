//! A reduce on every node, an allreduce among the nodes' first ranks, a broadcast on every node.

use crate::phases::{self, Among, Phase};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Parameter, bcast, reduce};

/// Costs the sum of its parts: between nodes as few messages as there are nodes, of the whole vector.
///
/// Combines in rank order if its parts do and the ranks of every node are consecutive.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "leaders",
    summary: "a reduce on every node, an allreduce among one rank of each, a broadcast on every node",
    source: "MPICH 2005 (smp); Graham, Shipman 2008",
    formula: "the sum of its parts",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase::of_node(
            Collective::Reduce,
            &[reduce::binomial::ALGORITHM.id, reduce::linear::ALGORITHM.id],
        ),
        Phase::between(
            Among::Leaders,
            Collective::Allreduce,
            &[
                super::recursive_doubling::ALGORITHM.id,
                super::rabenseifner::ALGORITHM.id,
                super::circulant::ALGORITHM.id,
                super::ring::ALGORITHM.id,
            ],
        ),
        Phase::of_node(
            Collective::Bcast,
            &[bcast::binomial::ALGORITHM.id, bcast::linear::ALGORITHM.id],
        ),
    ],
    scratch: phases::scratch,
    program: phases::program,
    ..PLAIN
};
