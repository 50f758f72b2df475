//! A broadcast among one rank of each node and one on every node, block by block.

use crate::Collective;
use crate::phases::{OVERLAPPED, Phase};
use crate::registry::Algorithm;

/// [`OVERLAPPED`] describes the cost.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "leaders_pipelined",
    summary: "a broadcast among one rank of each node, and at the same time one on every node of the block before",
    source: "Luo, Wu, Bosilca et al., HAN, CLUSTER 2020",
    phases: &[
        Phase::between_nodes(&[
            super::binomial::ALGORITHM,
            super::chain::ALGORITHM,
            super::binary_pipelined::ALGORITHM,
        ]),
        Phase::of_group(&[
            super::binomial::ALGORITHM,
            super::linear::ALGORITHM,
            super::chain::ALGORITHM,
        ]),
    ],
    ..OVERLAPPED
};
