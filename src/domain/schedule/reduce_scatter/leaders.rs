//! A reduce on every node, a reduce-scatter among one rank of each, a scatter on every node.

use crate::phases::{About, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, reduce, scatter};

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
    phases: &[
        // The ids must be those of the scatter, since one parameter names both.
        Phase::of_group(&[reduce::binomial::ALGORITHM, reduce::linear::ALGORITHM]),
        Phase::between_nodes(&[
            super::butterfly::ALGORITHM,
            super::circulant::ALGORITHM,
            super::recursive_halving::ALGORITHM,
        ])
        .about_part(About::Nodes),
        Phase::of_group(&[scatter::binomial::ALGORITHM, scatter::linear::ALGORITHM])
            .about_part(About::Own),
    ],
    ..PHASED
};
