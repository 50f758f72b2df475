//! The arguments of a query of a table.

use std::path::PathBuf;

use schedule::Collective;
use table::{Deployment, OperatorClass, Query};
use vocabulary::{CommShape, RankOrder};

use crate::values;

/// A table and a query.
#[derive(Debug, clap::Args)]
pub(super) struct QueryArgs {
    /// The decision table
    #[arg(value_name = "TABLE")]
    pub(super) table: PathBuf,
    #[command(flatten)]
    pub(super) question: QuestionArgs,
}

/// The arguments of a query.
#[derive(Debug, clap::Args)]
pub(super) struct QuestionArgs {
    /// The collective
    #[arg(long, short, value_parser = values::collective_parser())]
    collective: Collective,
    /// Number of nodes
    #[arg(long, short, value_parser = values::parse_node_count, required_unless_present = "shape")]
    nodes: Option<u32>,
    /// Ranks on each node
    #[arg(long, short = 'k', value_parser = values::parse_rank_count, required_unless_present = "shape")]
    ppn: Option<u32>,
    /// Nodes and ranks on each, as in 4x2, instead of --nodes and --ppn
    #[arg(
        long,
        value_name = "SHAPE",
        value_parser = values::parse_shape,
        conflicts_with_all = ["nodes", "ppn"]
    )]
    shape: Option<CommShape>,
    /// The order of ranks on the nodes: `block` (one node is filled after the other),
    /// `cyclic` (consecutive ranks are on consecutive nodes) or `other`; by default rules for any order are used
    #[arg(long, value_parser = values::rank_order_parser())]
    order: Option<RankOrder>,
    /// Size of one rank's vector, or of its contribution or part in gather, scatter, allgather and
    /// reduce_scatter_block, or of a block for one rank in alltoall, or of all ranks' contributions together in
    /// allgatherv; as in 512, 64K or 8MiB (K = 1024). A barrier has none: there it is ignored, as in alltoallv,
    /// alltoallw, gatherv and scatterv, where ranks do not know a common size
    #[arg(
        long,
        short,
        value_parser = vocabulary::units::parse_bytes,
        required_if_eq_any = collectives_by_size().map(|collective| ("collective", collective.name()))
    )]
    bytes: Option<u64>,
    /// Whether the operator of a reduction commutes
    #[arg(long, short, value_parser = values::operator_class_parser(), default_value = "commutative")]
    operator: OperatorClass,
    /// The deployment: `colltune` for all candidates, `library` for the library's own settings, as `export` writes
    /// them
    #[arg(long, short, value_parser = values::deployment_parser(), default_value = "colltune")]
    deployment: Deployment,
}

/// The collectives of which decisions may depend on the size.
fn collectives_by_size() -> impl Iterator<Item = Collective> {
    let measured = Collective::ALL.into_iter();
    measured.filter(|collective| collective.decides_by_size())
}

impl QuestionArgs {
    /// The query. As in `colltune_decide` and over HTTP, the size is ignored where decisions do not depend on it.
    pub(super) fn to_query(&self) -> Query {
        let collective = self.collective;
        let given = self.bytes.filter(|_| collective.decides_by_size());
        let bytes = given.unwrap_or(0);
        // The argument parser requires the shape or both of its numbers.
        let shape = self.shape.unwrap_or(CommShape {
            nodes: self.nodes.unwrap_or(1),
            ppn: self.ppn.unwrap_or(1),
        });
        Query {
            collective,
            shape,
            order: self.order.unwrap_or_default(),
            bytes,
            operators: self.operator,
            deployment: self.deployment,
        }
    }
}
