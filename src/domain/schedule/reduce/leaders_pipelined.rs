//! A reduce on every node and one among one rank of each, block by block.

use crate::Collective;
use crate::phases::{OVERLAPPED, Phase};
use crate::registry::Algorithm;

/// [`OVERLAPPED`] describes the cost. Combines in rank order if its parts do and the ranks of every node are
/// consecutive.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "leaders_pipelined",
    summary: "a reduce on every node, and at the same time one among one rank of each of the block before",
    source: "Luo, Wu, Bosilca et al., HAN, CLUSTER 2020",
    phases: &[
        Phase::of_group(&[
            super::binomial::ALGORITHM,
            super::linear::ALGORITHM,
            super::chain::ALGORITHM,
        ]),
        Phase::between_nodes(&[
            super::binomial::ALGORITHM,
            super::chain::ALGORITHM,
            super::binary_pipelined::ALGORITHM,
        ]),
    ],
    ..OVERLAPPED
};
