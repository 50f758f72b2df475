//! A reduce on every node and one among one rank of each, block by block.

use crate::phases::{PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter};

/// The first block costs the sum of its parts. Each further block costs what the busiest rank, a leader, does for it
/// on its node and between nodes. So parts in which a rank sends few messages, such as chains, are best for many
/// blocks. The parts themselves do not split blocks.
///
/// Combines in rank order if its parts do and the ranks of every node are consecutive.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "leaders_pipelined",
    summary: "a reduce on every node, and at the same time one among one rank of each of the block before",
    source: "Luo, Wu, Bosilca et al., HAN, CLUSTER 2020",
    formula: "of one block the sum of its parts, of each other what a leader does for it",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase::of_group(
            Collective::Reduce,
            &[
                super::binomial::ALGORITHM.id,
                super::linear::ALGORITHM.id,
                super::chain::ALGORITHM.id,
            ],
        ),
        Phase::between(
            Collective::Reduce,
            &[
                super::binomial::ALGORITHM.id,
                super::chain::ALGORITHM.id,
                super::binary_pipelined::ALGORITHM.id,
            ],
        ),
    ],
    is_pipelined: true,
    ..PHASED
};
