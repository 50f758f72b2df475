//! A broadcast among one rank of each node, then one on every node.

use crate::phases::{self, Among, Phase};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Parameter};

/// Costs the sum of its parts: between nodes as few messages as there are nodes.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "leaders",
    summary: "a broadcast among one rank of each node, then a broadcast on every node",
    source: "MPICH 2005 (smp); Graham, Shipman 2008",
    formula: "the sum of its parts",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase::between(
            Among::Leaders,
            Collective::Bcast,
            &[
                super::binomial::ALGORITHM.id,
                super::scatter_allgather::ALGORITHM.id,
                super::chain::ALGORITHM.id,
                super::binary_pipelined::ALGORITHM.id,
            ],
        ),
        Phase::of_node(
            Collective::Bcast,
            &[
                super::binomial::ALGORITHM.id,
                super::linear::ALGORITHM.id,
                super::chain::ALGORITHM.id,
            ],
        ),
    ],
    scratch: phases::scratch,
    program: phases::program,
    ..PLAIN
};
