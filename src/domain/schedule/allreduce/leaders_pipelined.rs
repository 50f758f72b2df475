//! A reduce on every node, an allreduce among one rank of each and a broadcast on every node, block by block.

use crate::phases::{OVERLAPPED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, bcast, reduce};

/// [`OVERLAPPED`] describes the cost. Combines in rank order if its parts do and the ranks of every node are
/// consecutive.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "leaders_pipelined",
    summary: "a reduce on every node, an allreduce among one rank of each and a broadcast on every node, at the same time on three blocks",
    source: "Luo, Wu, Bosilca et al., HAN, CLUSTER 2020",
    phases: &[
        Phase::of_group(&[reduce::binomial::ALGORITHM, reduce::chain::ALGORITHM]),
        Phase::between_nodes(&[
            super::recursive_doubling::ALGORITHM,
            super::rabenseifner::ALGORITHM,
            super::circulant::ALGORITHM,
        ]),
        Phase::of_group(&[bcast::binomial::ALGORITHM, bcast::chain::ALGORITHM]),
    ],
    ..OVERLAPPED
};
