//! A broadcast among one rank of each node and one on every node, block by block.

use crate::phases::{PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter};

/// The first block costs the sum of its parts. Each further block costs what the busiest rank, a leader, does for it
/// on its node and between nodes. So parts in which a rank sends few messages, such as chains, are best for many
/// blocks. The parts themselves do not split blocks.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "leaders_pipelined",
    summary: "a broadcast among one rank of each node, and at the same time one on every node of the block before",
    source: "Luo, Wu, Bosilca et al., HAN, CLUSTER 2020",
    formula: "of one block the sum of its parts, of each other what a leader does for it",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase::between(
            Collective::Bcast,
            &[
                super::binomial::ALGORITHM.id,
                super::chain::ALGORITHM.id,
                super::binary_pipelined::ALGORITHM.id,
            ],
        ),
        Phase::of_group(
            Collective::Bcast,
            &[
                super::binomial::ALGORITHM.id,
                super::linear::ALGORITHM.id,
                super::chain::ALGORITHM.id,
            ],
        ),
    ],
    is_pipelined: true,
    ..PHASED
};
