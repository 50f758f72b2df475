//! A scatter among one rank of each node, then one on every node.

use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter};

/// Costs the sum of its parts: of parts of `q m` bytes between nodes of `q` ranks, in as few messages as there are
/// nodes, and of `m` bytes on them.
///
/// The ranks of every node must be consecutive, or in cyclic order with the same number on each node.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scatter,
    id: "leaders",
    summary: "a scatter among one rank of each node, then a scatter on every node",
    source: "Graham, Shipman 2008; Open MPI's han",
    parameters: &[Parameter::Node, Parameter::Network],
    phases: &[
        Phase {
            about: About::Nodes,
            ..Phase::between(Collective::Scatter, CHOICES)
        },
        Phase {
            about: About::Own,
            ..Phase::of_group(Collective::Scatter, CHOICES)
        },
    ],
    ..PHASED
};

const CHOICES: &[&str] = &[
    super::binomial::ALGORITHM.id,
    super::linear_nonblocking::ALGORITHM.id,
];
