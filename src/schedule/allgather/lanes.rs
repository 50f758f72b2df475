//! An allgather in every lane at once, then an allgather on every node of the contributions that its lanes have.

use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter};

/// Costs the sum of its parts: of contributions of `m` bytes, and on nodes of contributions of `n m` bytes
/// from `n` nodes.
///
/// All nodes must have the same number of ranks, in block or in cyclic order. In block order the contributions of a
/// lane are at equal distances, so that messages on the nodes are strided.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "lanes",
    summary: "an allgather between nodes in every lane, then an allgather on every node",
    source: "Träff, Hunold, CLUSTER 2020",
    parameters: &[Parameter::Node, Parameter::Network],
    phases: &[
        Phase {
            about: About::Own,
            ..Phase::between(Collective::Allgather, CHOICES)
        },
        Phase {
            about: About::Lanes,
            ..Phase::of_node(Collective::Allgather, CHOICES)
        },
    ],
    ..PHASED
};

const CHOICES: &[&str] = &[
    super::circulant::ALGORITHM.id,
    super::ring::ALGORITHM.id,
    super::recursive_doubling::ALGORITHM.id,
];
