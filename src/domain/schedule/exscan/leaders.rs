//! An exclusive scan on every node, one of the nodes' totals, a broadcast on every node.

use crate::phases::{PHASED, Phase};
use crate::registry::Algorithm;
use crate::{Collective, Nodes, Parameter, bcast};

/// Costs the sum of its parts, and two combinations: between nodes as few messages as an exclusive scan
/// among as many ranks as there are nodes.
///
/// The last rank of each node leads. The ranks of every node must be consecutive, also for operators that commute.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Exscan,
    id: "leaders",
    summary: "an exclusive scan on every node, one of the nodes' totals, whose results are combined with it",
    source: "after MPICH's smp scan",
    formula: "the sum of its parts, and 2 gamma m",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    phases: &[
        Phase::of_group(&[super::doubling_123::ALGORITHM, super::chain::ALGORITHM]),
        Phase::between_nodes(&[
            super::doubling_123::ALGORITHM,
            super::recursive_doubling::ALGORITHM,
            super::chain::ALGORITHM,
        ]),
        Phase {
            named_by: None,
            ..Phase::of_group(&[bcast::binomial::ALGORITHM])
        },
    ],
    serves_nodes: Nodes::are_consecutive,
    ..PHASED
};
