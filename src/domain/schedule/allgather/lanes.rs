//! An allgather in every lane at once, then an allgather on every node of the contributions that its lanes have.

use crate::Collective;
use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;

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
    phases: &[
        Phase::between_nodes(CHOICES).about_part(About::Own),
        Phase::of_node(CHOICES).about_part(About::Lanes),
    ],
    ..PHASED
};

const CHOICES: &[Algorithm] = &[
    super::circulant::ALGORITHM,
    super::ring::ALGORITHM,
    super::recursive_doubling::ALGORITHM,
];
