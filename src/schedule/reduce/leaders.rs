//! A reduce on every node, then one among one rank of each.

use crate::phases::{self, Among, Phase};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Parameter};

/// Costs the sum of its parts: between nodes as few messages as there are nodes.
///
/// Combines in rank order if its parts do and the ranks of every node are consecutive.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "leaders",
    summary: "a reduce on every node, then a reduce among one rank of each",
    source: "MPICH 2005 (smp); Graham, Shipman 2008",
    formula: "the sum of its parts",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase::of_node(
            Collective::Reduce,
            &[
                super::binomial::ALGORITHM.id,
                super::linear::ALGORITHM.id,
                super::chain::ALGORITHM.id,
            ],
        ),
        Phase::between(
            Among::Leaders,
            Collective::Reduce,
            &[
                super::binomial::ALGORITHM.id,
                super::rabenseifner::ALGORITHM.id,
                super::chain::ALGORITHM.id,
                super::binary_pipelined::ALGORITHM.id,
            ],
        ),
    ],
    scratch: phases::scratch,
    program: phases::program,
    ..PLAIN
};
