//! A question to a table.

use std::path::PathBuf;

use schedule::Collective;
use table::{Deployment, OperatorClass, Query};
use vocabulary::{CommShape, RankOrder};

use crate::error::CliError;
use crate::values;

/// A table, and what it is asked.
#[derive(Debug, clap::Args)]
pub(super) struct QueryArgs {
    /// The decision table
    #[arg(value_name = "TABLE")]
    pub(super) table: PathBuf,
    #[command(flatten)]
    question: QuestionArgs,
}

impl QueryArgs {
    /// The question, as [`QuestionArgs::query`].
    pub(super) fn query(&self) -> Result<Query, CliError> {
        self.question.query()
    }
}

/// The arguments that say what a table is asked.
#[derive(Debug, clap::Args)]
pub(super) struct QuestionArgs {
    /// The collective
    #[arg(long, short, value_parser = values::collective())]
    collective: Collective,
    /// Number of nodes
    #[arg(long, short, value_parser = values::count)]
    nodes: u32,
    /// Ranks on each node
    #[arg(long, short = 'k', value_parser = values::count)]
    ppn: u32,
    /// The order of ranks on the nodes: `block` (a node is filled before the next one),
    /// `cyclic` (dealt to the nodes in turn) or `other`; without it, rules for any order answer
    #[arg(long, value_parser = values::rank_order())]
    order: Option<RankOrder>,
    /// Size of one rank's vector, or of its contribution or part in gather, scatter, allgather and
    /// reduce_scatter_block, or of a block for one rank in alltoall; as in 512, 64K or 8MiB (K =
    /// 1024). A barrier has none, or 0
    #[arg(
        long,
        short,
        value_parser = vocabulary::units::parse_bytes,
        required_if_eq_any = sized().map(|collective| ("collective", collective.name()))
    )]
    bytes: Option<u64>,
    /// Whether the operator of a reduction commutes
    #[arg(long, short, value_parser = values::operator_class(), default_value = "commutative")]
    operator: OperatorClass,
    /// How the answer is to be used: `colltune` has all candidates, `library` only the library's own
    /// settings, as `export` writes them
    #[arg(long, short, value_parser = values::deployment(), default_value = "colltune")]
    deployment: Deployment,
}

/// The collectives whose calls have a length.
fn sized() -> impl Iterator<Item = Collective> {
    let measured = Collective::MEASURED.into_iter();
    measured.filter(|collective| collective.has_data())
}

impl QuestionArgs {
    /// The question, unless it gives a length to a call that has none.
    pub(super) fn query(&self) -> Result<Query, CliError> {
        let (collective, bytes) = (self.collective, self.bytes.unwrap_or(0));
        if !collective.has_data() && bytes > 0 {
            return Err(CliError::NoData { collective });
        }
        Ok(Query {
            collective,
            shape: CommShape {
                nodes: self.nodes,
                ppn: self.ppn,
            },
            order: self.order.unwrap_or_default(),
            bytes,
            operators: self.operator,
            deployment: self.deployment,
        })
    }
}
