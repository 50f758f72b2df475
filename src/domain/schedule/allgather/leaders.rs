//! A gather on every node, an allgather among one rank of each, a broadcast on every node.

use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, bcast, gather};

/// Costs the sum of its parts: between nodes of `q` ranks contributions of `q m` bytes, in as few messages as
/// there are nodes, and on nodes a broadcast of all contributions.
///
/// The ranks of every node must be consecutive, or in cyclic order with the same number on each node.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "leaders",
    summary: "a gather on every node, an allgather among one rank of each, a broadcast on every node",
    source: "Graham, Shipman 2008; Open MPI's han",
    phases: &[
        // The ids must be those of the broadcast, since one parameter names both.
        Phase::of_group(&[
            gather::binomial::ALGORITHM,
            gather::linear_nonblocking::ALGORITHM,
        ])
        .about_part(About::Own),
        Phase::between_nodes(&[
            super::circulant::ALGORITHM,
            super::ring::ALGORITHM,
            super::recursive_doubling::ALGORITHM,
        ])
        .about_part(About::Nodes),
        Phase::of_group(&[
            bcast::binomial::ALGORITHM,
            bcast::linear_nonblocking::ALGORITHM,
        ]),
    ],
    ..PHASED
};
