//! A reduce-scatter on every node, which gives each lane its parts, then a reduce-scatter in every lane at once.

use crate::Collective;
use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;

/// Costs the sum of its parts. With `q` ranks a node a lane, the ranks with one local rank, moves and combines a
/// q-th of the vector between nodes, so that all ranks of a node send and receive at once.
///
/// All nodes must have the same number of ranks, in block or in cyclic order. In block order the parts of a lane are at
/// equal distances, so that messages on the nodes are strided. Then it combines in rank order if its parts do.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatterBlock,
    id: "lanes",
    summary: "a reduce-scatter on every node, then a reduce-scatter between nodes in every lane",
    source: "Träff, Hunold, CLUSTER 2020",
    phases: &[
        Phase::of_node(CHOICES).about_part(About::Lanes),
        Phase::between_nodes(CHOICES).about_part(About::Own),
    ],
    ..PHASED
};

const CHOICES: &[Algorithm] = &[
    super::butterfly::ALGORITHM,
    super::circulant::ALGORITHM,
    super::recursive_halving::ALGORITHM,
];
