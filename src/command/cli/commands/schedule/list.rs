use report::text_table;
use schedule::{Algorithm, BracketedBy, Collective, Parameter, Parameters};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, CliError, Console};
use crate::values;

/// List the algorithms
///
/// Prints each algorithm with a summary and its source. In costs, `p` is the number of ranks, `L` its logarithm to base
/// 2, rounded up, `m` the bytes of the whole vector, or of one rank's part in gather, scatter and allgather, or of the
/// block for one rank in alltoall, on average where MPI has counts, `b` the number of blocks, `H` the height of the tree, `alpha` the time of a message,
/// `beta` of a byte moved and `gamma` of a byte combined. Ordered algorithms combine in rank order, which
/// noncommutative operators need: `at ends` only if the root is the first or the last rank, `by part` if the inner
/// algorithms do. Algorithms with parameters `node` and `network` are ordered only with consecutive ranks on each node.
///
/// The bits of a result that was rounded depend on how the contributions were bracketed. The number of ranks always
/// decides that; `bracketed by` says what else does, with the default parameters: `element` if elements of one vector
/// have different brackets, so that its length and the number of blocks matter, `root`, and `nodes` for which ranks share
/// a node. `-` means nothing else.
///
/// `colltune schema schedule list` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune schedule list --collective allreduce")]
pub(super) struct ScheduleListArgs {
    /// Only the algorithms of this collective
    #[arg(long, short, value_parser = values::collective_parser())]
    collective: Option<Collective>,
    /// Print the catalogue as JSON
    #[arg(long)]
    json: bool,
}

impl ScheduleListArgs {
    pub(super) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let collectives = match self.collective {
            Some(only) => vec![only],
            None => Collective::ALL.to_vec(),
        };
        let algorithms = collectives
            .iter()
            .copied()
            .flat_map(schedule::algorithms_of);
        let entries: Vec<CatalogueEntry> = algorithms.map(CatalogueEntry::from_algorithm).collect();
        console.print_answer(self.json, &entries, || {
            let sections = collectives.into_iter().map(collective_section);
            sections.collect::<Vec<_>>().join("\n\n")
        })
    }
}

/// An algorithm of the catalogue.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct CatalogueEntry {
    /// Name of the collective, as in `allreduce`.
    #[schemars(schema_with = "vocabulary::collective_name::list_in_schema")]
    collective: &'static str,
    /// Bare id.
    id: &'static str,
    /// A description in a few words.
    summary: &'static str,
    /// Whether it combines in rank order, whatever the root.
    ordered: bool,
    /// Whether it combines in rank order if the root is the first or the last rank.
    ordered_at_ends: bool,
    /// What decides how it brackets contributions with the default parameters, besides the number of ranks: `element`,
    /// `root` and `nodes`; null if it combines nothing.
    bracketed_by: Option<Vec<&'static str>>,
    /// The parameters that it takes, by their names in tables.
    parameters: Vec<&'static str>,
    /// The formula of its time.
    cost: &'static str,
    /// `any`, or `even` if it works only for even numbers of ranks.
    ranks: &'static str,
    /// The publication or library that it comes from.
    source: &'static str,
}

impl CatalogueEntry {
    fn from_algorithm(algorithm: &Algorithm) -> Self {
        Self {
            collective: algorithm.collective.name(),
            id: algorithm.id,
            summary: algorithm.summary,
            ordered: algorithm.ordered,
            ordered_at_ends: algorithm.ordered_at_ends,
            bracketed_by: bracketed_by(algorithm),
            parameters: table::parameter_names(algorithm),
            cost: algorithm.formula,
            ranks: if algorithm.even_ranks { "even" } else { "any" },
            source: algorithm.source,
        }
    }
}

/// What decides how an algorithm with default parameters brackets contributions; `None` if it combines nothing.
fn bracketed_by(algorithm: &Algorithm) -> Option<Vec<&'static str>> {
    let all = algorithm.bracketed_by(&Parameters::default())?;
    Some(all.into_iter().map(BracketedBy::name).collect())
}

/// The algorithms of a collective: a row for each, and a line with its summary and source.
fn collective_section(collective: Collective) -> String {
    let columns = "algorithm | ordered | bracketed by? | parameters | cost";
    let rows = text_table(
        columns,
        schedule::algorithms_of(collective).map(algorithm_row),
    )
    .to_text();
    let mut rows = rows.lines();
    let mut lines: Vec<String> = rows.next().map(str::to_owned).into_iter().collect();
    for (row, algorithm) in rows.zip(schedule::algorithms_of(collective)) {
        let Algorithm {
            summary, source, ..
        } = algorithm;
        lines.push(row.to_owned());
        lines.push(format!("    {summary} [{source}]"));
    }
    lines.join("\n")
}

fn algorithm_row(algorithm: &Algorithm) -> [String; 5] {
    let ordered = match (algorithm.ordered, algorithm.ordered_at_ends) {
        (true, _) if algorithm.takes(Parameter::Reduce) => "by part",
        (true, _) if algorithm.knows_nodes() && algorithm.collective.is_reduction() => "by part",
        (true, _) => "yes",
        (false, true) => "at ends",
        (false, false) => "no",
    };
    let parameters: Vec<String> = algorithm
        .parameters
        .iter()
        .map(ToString::to_string)
        .collect();
    [
        algorithm.name(),
        ordered.to_owned(),
        match bracketed_by(algorithm) {
            None => String::new(),
            Some(none) if none.is_empty() => "-".to_owned(),
            Some(some) => some.join(", "),
        },
        parameters.join(", "),
        algorithm.formula.to_owned(),
    ]
}
