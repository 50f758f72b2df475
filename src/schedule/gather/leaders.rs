//! A gather on every node, then one among one rank of each.

use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter};

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
    parameters: &[Parameter::Node, Parameter::Network],
    phases: &[
        Phase {
            about: About::Own,
            ..Phase::of_group(Collective::Gather, CHOICES)
        },
        Phase {
            about: About::Nodes,
            ..Phase::between(Collective::Gather, CHOICES)
        },
    ],
    ..PHASED
};

const CHOICES: &[&str] = &[
    super::binomial::ALGORITHM.id,
    super::linear_nonblocking::ALGORITHM.id,
];
