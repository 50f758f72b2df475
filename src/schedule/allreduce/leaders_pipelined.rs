//! A reduce on every node, an allreduce among one rank of each and a broadcast on every node, block by block.

use crate::phases::{PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter, bcast, reduce};

/// The first block costs the sum of its parts. Each further block costs what the busiest rank, a leader, does for it
/// on its node and between nodes. So parts in which a rank sends few messages, such as chains, are best for many
/// blocks. The parts themselves do not split blocks.
///
/// Combines in rank order if its parts do and the ranks of every node are consecutive.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "leaders_pipelined",
    summary: "a reduce on every node, an allreduce among one rank of each and a broadcast on every node, at the same time on three blocks",
    source: "Luo, Wu, Bosilca et al., HAN, CLUSTER 2020",
    formula: "of one block the sum of its parts, of each other what a leader does for it",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase::of_group(
            Collective::Reduce,
            &[reduce::binomial::ALGORITHM.id, reduce::chain::ALGORITHM.id],
        ),
        Phase::between(
            Collective::Allreduce,
            &[
                super::recursive_doubling::ALGORITHM.id,
                super::rabenseifner::ALGORITHM.id,
                super::circulant::ALGORITHM.id,
            ],
        ),
        Phase::of_group(
            Collective::Bcast,
            &[bcast::binomial::ALGORITHM.id, bcast::chain::ALGORITHM.id],
        ),
    ],
    is_pipelined: true,
    ..PHASED
};
