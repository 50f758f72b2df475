//! A scan on every node, an exclusive one of the nodes' totals, a broadcast on every node.

use crate::phases::{PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Nodes, Parameter, bcast, exscan};

/// Costs the sum of its parts, and a combination: between nodes as few messages as an exclusive scan
/// among as many ranks as there are nodes.
///
/// The last rank of each node leads. The ranks of every node must be consecutive, also for operators that commute.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scan,
    id: "leaders",
    summary: "a scan on every node, an exclusive one among the last ranks, whose results are combined with it",
    source: "MPICH's smp",
    formula: "the sum of its parts, and gamma m",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase::of_group(&[
            super::hillis_steele::ALGORITHM,
            super::binomial::ALGORITHM,
            super::chain::ALGORITHM,
        ]),
        Phase::between_nodes(&[
            exscan::doubling_123::ALGORITHM,
            exscan::recursive_doubling::ALGORITHM,
            exscan::chain::ALGORITHM,
        ]),
        Phase {
            named_by: None,
            ..Phase::of_group(&[bcast::binomial::ALGORITHM])
        },
    ],
    serves_nodes: Nodes::are_consecutive,
    ..PHASED
};
