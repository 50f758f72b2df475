//! A reduce-scatter on every node, which gives each lane its parts, then a reduce-scatter in every lane at once.

use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter};

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
    parameters: &[Parameter::Node, Parameter::Network],
    phases: &[
        Phase {
            about: About::Lanes,
            ..Phase::of_node(Collective::ReduceScatter, CHOICES)
        },
        Phase {
            about: About::Own,
            ..Phase::between(Collective::ReduceScatter, CHOICES)
        },
    ],
    ..PHASED
};

const CHOICES: &[&str] = &[
    super::butterfly::ALGORITHM.id,
    super::circulant::ALGORITHM.id,
    super::recursive_halving::ALGORITHM.id,
];
