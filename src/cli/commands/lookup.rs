use table::{DecisionJson, Table};
use vocabulary::units::format_seconds;

use super::query::QueryArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// Ask a table which algorithm to use
///
/// The rule is that of the communicator shape asked for, with ranks in the order asked for; or, between two measured
/// shapes, what is the fastest by times interpolated between them; or that of the nearest shape that was measured. It is
/// that of the largest size up to the one asked for. Times are those
/// measured, and interpolated between measured sizes; those of the nearest shape are said to be of it. The speed-up says how many times as long the default takes.
/// It is the median of ratios paired inside launches (fresh ones, where choices are confirmed), by which the
/// candidate was chosen; the two median times may have another ratio.
///
/// `colltune schema lookup` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    query: QueryArgs,
    /// Print the decision as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  colltune lookup tables/quickstart.yaml --collective allreduce --nodes 1 --ppn 2 --bytes 64K
  colltune lookup tables/quickstart.yaml -c reduce -n 1 -k 2 -b 1M -o noncommutative --json";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let table = Table::load(&self.query.table)?;
        warn_of_simulation(&table, console);
        let decision = table.lookup(&self.query.query()?).to_json();
        if self.json {
            console.json(&decision)?;
        } else {
            console.print(describe(&decision))?;
        }
        Ok(Answer::Good)
    }
}

/// Tells people, who may have forgotten, where a table is from.
pub(super) fn warn_of_simulation(table: &Table, console: Console) {
    let library = &table.provenance.library;
    if library.is_simulated() {
        console.warn(format_args!(
            "nothing was measured for this table: its times are those of {library}."
        ));
    }
}

/// A decision for people: the candidate on the first line.
pub(super) fn describe(decision: &DecisionJson) -> String {
    let DecisionJson {
        candidate,
        expected_seconds,
        default_seconds,
        times_of,
        speedup,
        confidence,
        confirmed,
        reason,
        rule,
        shape,
        ..
    } = decision;
    let of = times_of
        .as_ref()
        .map_or_else(String::new, |shape| format!(" on {shape}"));
    let time = |seconds: &Option<f64>| match seconds {
        Some(seconds) => format!("{}{of}", format_seconds(*seconds)),
        None => "unknown".to_owned(),
    };
    let mut lines = vec![candidate.clone()];
    lines.push(format!("  expected    {}", time(expected_seconds)));
    if candidate != "default" {
        let speedup = speedup.map_or_else(String::new, |s| format!(", {s:.2} times as long"));
        lines.push(format!("  default     {}{speedup}", time(default_seconds)));
    }
    let confirmed = match (candidate.as_str(), confirmed) {
        ("default", _) => "",
        (_, true) => ", confirmed in fresh launches",
        (_, false) => ", not confirmed in fresh launches",
    };
    lines.push(format!("  confidence  {confidence}{confirmed}"));
    match reason {
        _ if candidate == "default" => {}
        None => lines.push("  deployed    yes".to_owned()),
        Some(reason) => lines.push(format!("  deployed    no: {reason}")),
    }
    lines.push(format!("  rule        {rule}"));
    if shape != "measured" {
        lines.push(format!("  shape       not measured: {shape}"));
    }
    lines.join("\n")
}
