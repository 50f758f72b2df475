//! A scatter among one rank of each node, then one on every node.

use crate::Collective;
use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;

/// Costs the sum of its parts: of parts of `q m` bytes between nodes of `q` ranks, in as few messages as there are
/// nodes, and of `m` bytes on them.
///
/// The ranks of every node must be consecutive, or in cyclic order with the same number on each node.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scatter,
    id: "leaders",
    summary: "a scatter among one rank of each node, then a scatter on every node",
    source: "Graham, Shipman 2008; Open MPI's han",
    phases: &[
        Phase::between_nodes(CHOICES).about_part(About::Nodes),
        Phase::of_group(CHOICES).about_part(About::Own),
    ],
    ..PHASED
};

const CHOICES: &[Algorithm] = &[
    super::binomial::ALGORITHM,
    super::linear_nonblocking::ALGORITHM,
];
