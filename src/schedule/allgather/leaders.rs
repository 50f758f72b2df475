//! A gather on every node, an allgather among one rank of each, a broadcast on every node.

use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter, gather};

/// Costs the sum of its parts: between nodes of `q` ranks contributions of `q m` bytes, in as few messages as
/// there are nodes, and on nodes a broadcast of all contributions.
///
/// The ranks of every node must be consecutive, or in cyclic order with the same number on each node.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "leaders",
    summary: "a gather on every node, an allgather among one rank of each, a broadcast on every node",
    source: "Graham, Shipman 2008; Open MPI's han",
    parameters: &[Parameter::Node, Parameter::Network],
    phases: &[
        // The same for the gather as for the broadcast.
        Phase {
            about: About::Own,
            ..Phase::of_group(Collective::Gather, CHOICES)
        },
        Phase {
            about: About::Nodes,
            ..Phase::between(
                Collective::Allgather,
                &[
                    super::circulant::ALGORITHM.id,
                    super::ring::ALGORITHM.id,
                    super::recursive_doubling::ALGORITHM.id,
                ],
            )
        },
        Phase::of_group(Collective::Bcast, CHOICES),
    ],
    ..PHASED
};

const CHOICES: &[&str] = &[
    gather::binomial::ALGORITHM.id,
    gather::linear_nonblocking::ALGORITHM.id,
];
