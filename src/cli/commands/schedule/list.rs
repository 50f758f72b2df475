use schedule::{ALGORITHMS, Algorithm, Collective, Parameter};
use serde_json::{Value, json};

use crate::commands::grid::grid;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
use crate::values;

/// List the algorithms
///
/// With --json, prints an array of objects with `collective`, `id`, `summary`, `ordered` (whether
/// it combines in rank order, as operators that do not commute need), `parameters` (names as in
/// tables) and `source`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only those of this collective
    #[arg(long, short, value_parser = values::collective())]
    collective: Option<Collective>,
    /// Print the catalogue as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Example:
  colltune schedule list --collective allreduce";

impl Args {
    pub(super) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let wanted = |algorithm: &&Algorithm| {
            self.collective
                .is_none_or(|collective| algorithm.collective == collective)
        };
        let algorithms = ALGORITHMS.iter().filter(wanted);
        if self.json {
            console.json(&algorithms.map(to_json).collect::<Vec<_>>())?;
        } else {
            console.print(grid(
                ["algorithm", "ordered", "parameters", "summary"],
                algorithms.map(row),
            ))?;
        }
        Ok(Answer::Good)
    }
}

fn to_json(algorithm: &Algorithm) -> Value {
    json!({
        "collective": algorithm.collective.name(),
        "id": algorithm.id,
        "summary": algorithm.summary,
        "ordered": algorithm.ordered,
        "parameters": parameter_names(algorithm),
        "source": algorithm.source,
    })
}

fn row(algorithm: &Algorithm) -> [String; 4] {
    [
        algorithm.name(),
        if algorithm.ordered { "yes" } else { "no" }.to_owned(),
        parameter_names(algorithm).join(", "),
        algorithm.summary.to_owned(),
    ]
}

/// The parameters as tables and JSON spell them.
fn parameter_names(algorithm: &Algorithm) -> Vec<&'static str> {
    let spelling = |parameter: &Parameter| -> &'static [&'static str] {
        match parameter {
            Parameter::Blocks => &["block_bytes", "blocks"],
            Parameter::Reduce => &["reduce"],
            Parameter::Bcast => &["bcast"],
        }
    };
    algorithm
        .parameters
        .iter()
        .flat_map(spelling)
        .copied()
        .collect()
}
