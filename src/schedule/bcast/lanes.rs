//! A scatter on the root's node, a broadcast in every lane at once, an allgather on every node.

use crate::phases::{About, Among, PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Parameter, allgather, scatter};

/// Costs the sum of its parts. With `q` ranks a node each of the `q` lanes, of the ranks with one local rank, moves a
/// q-th of the vector between nodes. All nodes must have the same number of ranks.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "lanes",
    summary: "a scatter on the root's node, a broadcast of each part between nodes, an allgather on every node",
    source: "Träff, Hunold, CLUSTER 2020",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase {
            among: Among::RootNode,
            about: About::All,
            collective: Collective::Scatter,
            named_by: None,
            choices: &[scatter::binomial::ALGORITHM.id],
        },
        Phase::between(
            Collective::Bcast,
            &[
                super::binomial::ALGORITHM.id,
                super::scatter_allgather::ALGORITHM.id,
                super::chain::ALGORITHM.id,
                super::binary_pipelined::ALGORITHM.id,
            ],
        ),
        Phase::of_node(
            Collective::Allgather,
            &[
                allgather::circulant::ALGORITHM.id,
                allgather::ring::ALGORITHM.id,
            ],
        ),
    ],
    ..PHASED
};
