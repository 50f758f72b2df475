//! A reduce on every node, a reduce-scatter among one rank of each, a scatter on every node.

use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter, reduce};

/// Costs the sum of its parts: on nodes a reduce of the whole vector and a scatter of the node's part, between
/// them as few messages as there are nodes.
///
/// Parts may have any sizes where the ranks of every node are consecutive. Then it combines in rank order if its parts
/// do. In cyclic order all parts must have the same size, and all nodes the same number of ranks.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    id: "leaders",
    summary: "a reduce on every node, a reduce-scatter among one rank of each, a scatter on every node",
    source: "Graham, Shipman 2008",
    parameters: &[Parameter::Node, Parameter::Network],
    phases: &[
        // The same for the reduce as for the scatter.
        Phase::of_group(Collective::Reduce, CHOICES),
        Phase {
            about: About::Nodes,
            ..Phase::between(
                Collective::ReduceScatter,
                &[
                    super::butterfly::ALGORITHM.id,
                    super::circulant::ALGORITHM.id,
                    super::recursive_halving::ALGORITHM.id,
                ],
            )
        },
        Phase {
            about: About::Own,
            ..Phase::of_group(Collective::Scatter, CHOICES)
        },
    ],
    ..PHASED
};

const CHOICES: &[&str] = &[reduce::binomial::ALGORITHM.id, reduce::linear::ALGORITHM.id];
