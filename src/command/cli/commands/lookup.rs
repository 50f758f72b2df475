use std::path::Path;

use table::{Decision, DecisionJson, Table};
use vocabulary::units::format_seconds;

use super::in_force::JudgedTable;
use super::query::QueryArgs;
use super::{Answer, CliError, Console};

/// Ask a table which algorithm to use
///
/// Uses the table's rules for the given communicator shape and order of ranks. For a shape between two measured ones,
/// it chooses the candidate with the shortest interpolated time; otherwise it uses the rules of the nearest measured
/// shape, and says that times are of that shape. Of these rules, the one with the largest size up to the given size
/// applies. Times between measured sizes are interpolated. The speed-up is the default's time divided by the
/// candidate's: the median of ratios paired inside launches (fresh ones, if choices are confirmed), by which the
/// candidate was chosen. The ratio of the two median times may differ from it.
///
/// For a reduction by an algorithm of colltune it also says what decides the bits of a result that is rounded, and the
/// depth: the most additions, one after the other, that a contribution goes through.
///
/// `colltune schema lookup` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune lookup tables/quickstart.yaml --collective allreduce --nodes 1 --ppn 2 --bytes 64K
  colltune lookup tables/quickstart.yaml -c reduce -n 1 -k 2 -b 1M -o noncommutative --json
  colltune lookup tables/quickstart.yaml -c bcast -n 1 -k 2 -b 1M --nonblocking")]
pub(crate) struct LookupArgs {
    #[command(flatten)]
    query: QueryArgs,
    /// Ask about a nonblocking call, such as MPI_Ibcast
    #[arg(long)]
    nonblocking: bool,
    /// Print the decision as JSON
    #[arg(long)]
    json: bool,
}

impl LookupArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let table = JudgedTable::read(&self.query.table, None, console)?.table;
        warn_of_simulation(&table, console);
        let query = self.query.question.to_query();
        let decision = match &table.nonblocking {
            _ if !self.nonblocking => table.lookup(&query),
            Some(section) => section.lookup(&query),
            None => Decision::without_rule(&query),
        };
        let decision = decision.to_json();
        console.print_answer(self.json, &decision, || describe_decision(&decision))
    }
}

/// Warns if a table was made from simulated times.
pub(super) fn warn_of_simulation(table: &Table, console: Console) {
    let library = &table.provenance.library;
    if library.is_simulated() {
        console.warn(format_args!(
            "nothing was measured for this table: its times are those of {library}."
        ));
    }
}

/// Warns if a table that the library reads itself was measured on another type of CPU than this machine's, which the
/// library does not check.
pub(super) fn warn_of_cpu(table: &Table, console: Console) {
    let (provenance, cpu) = (&table.provenance, environment::host_cpu_model());
    if !provenance.library.is_simulated() && !provenance.is_for_cpu(&cpu) {
        console.warn(format_args!(
            "the table was measured on nodes with `{}`, and this machine has `{cpu}`: the library does not check that.",
            provenance.cpu
        ));
    }
}

/// Warns if such a table was measured on other networks than this machine's.
pub(super) fn warn_of_networks(table: &Table, console: Console) {
    let provenance = &table.provenance;
    let networks = environment::find_networks(Path::new(environment::DEVICES));
    if !provenance.library.is_simulated() && !provenance.is_for_networks(&networks) {
        console.warn(format_args!(
            "the table was measured on nodes connected by {}, and this machine is connected by {}: the library does not \
             check that.",
            provenance.networks.join(" and "),
            networks.join(" and ")
        ));
    }
}

/// A decision as text, with the candidate on the first line.
pub(super) fn describe_decision(decision: &DecisionJson) -> String {
    let DecisionJson {
        candidate,
        collective,
        expected_seconds,
        default_seconds,
        times_of,
        speedup,
        confidence,
        confirmed,
        reason,
        rule,
        shape,
        operator,
        bracketed_by,
        depth,
        ..
    } = decision;
    // Times may be those of the nearest measured shape, which is then named beside each.
    let on_shape = times_of
        .as_ref()
        .map_or_else(String::new, |measured_shape| {
            format!(" on {measured_shape}")
        });
    let format_time = |seconds: &Option<f64>| match seconds {
        Some(seconds) => format!("{}{on_shape}", format_seconds(*seconds)),
        None => "unknown".to_owned(),
    };
    let mut lines = vec![candidate.clone()];
    lines.push(format!("  expected    {}", format_time(expected_seconds)));
    if candidate != "default" {
        let speedup = speedup.map_or_else(String::new, |s| {
            format!(", {s:.2} times as long (median of paired ratios)")
        });
        lines.push(format!(
            "  default     {}{speedup}",
            format_time(default_seconds)
        ));
    }
    // The default needs no confirmation and is never deployed.
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
    if operator.is_some() {
        let known = bracketed_by.as_deref();
        let known = known.map(|by| report::describe_bits(by, *depth));
        let unknown =
            || "unknown: the library does not say how it brackets contributions".to_owned();
        lines.push(format!("  bits        {}", known.unwrap_or_else(unknown)));
    }
    if shape == "none" {
        lines.push(format!(
            "  shape       no rules for such calls of {collective} in this table"
        ));
    } else if shape != "measured" {
        lines.push(format!("  shape       not measured: {shape}"));
    }
    lines.join("\n")
}
