//! A gather on every node, then one among one rank of each.

use crate::Collective;
use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;

/// Costs the sum of its parts: of contributions of `m` bytes on a node of `q` ranks, and of `q m` bytes between
/// nodes, in as few messages as there are nodes.
///
/// The ranks of every node must be consecutive, or in cyclic order with the same number on each node. In cyclic order
/// the contributions of a node are at equal distances at the root, so that its message is strided.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "leaders",
    summary: "a gather on every node, then a gather among one rank of each",
    source: "Graham, Shipman 2008; Open MPI's han",
    phases: &[
        Phase::of_group(CHOICES).about_part(About::Own),
        Phase::between_nodes(CHOICES).about_part(About::Nodes),
    ],
    ..PHASED
};

const CHOICES: &[Algorithm] = &[
    super::binomial::ALGORITHM,
    super::linear_nonblocking::ALGORITHM,
];
