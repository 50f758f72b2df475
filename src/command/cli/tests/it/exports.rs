//! Exported files at work in real libraries: the right algorithm runs in every range, at its ends and
//! next to them, in place and not, and results are right for operators that do not commute too.

mod audited;
mod command;
mod han;
mod intelmpi;
pub(crate) mod launch;
mod mpich;
mod openmpi;
mod parameters;

use table::Table;

use crate::run::Place;

/// A table of a library in a place, as `tables/night.yaml`.
fn write_table(place: &Place, library: &str, version: &str, collectives: &str) -> Table {
    let text = testkit::tables::table_yaml("night", library, version, collectives);
    place.write("tables/night.yaml", text);
    Table::load(&place.path("tables/night.yaml")).unwrap()
}

/// The entry of a shape on one node for some operators: thresholds with the names of the candidates that begin there.
fn entry(ranks: u32, operators: Option<&str>, rules: &[(u64, String)]) -> String {
    let operators = operators.map_or_else(String::new, |of| format!("        operators: {of}\n"));
    let rules: Vec<String> = rules
        .iter()
        .map(|(from, candidate)| {
            let confirmed = if candidate == "default" { "" } else { ", confirmed: true" };
            format!(
                "          - {{from: {from}, candidate: {candidate}, confidence: high{confirmed}}}\n"
            )
        })
        .collect();
    format!(
        "      - nodes: 1\n        ppn: {ranks}\n{operators}        deployment: library\n        \
         rules:\n{}",
        rules.concat()
    )
}

/// A call that the program carries out.
#[derive(Clone, Debug, PartialEq)]
struct Call {
    collective: schedule::Collective,
    bytes: u64,
    /// The program's name for the collective.
    variant: &'static str,
}

/// The calls in the format that the program reads.
fn lines(calls: &[Call]) -> String {
    let line = |call: &Call| format!("{} {} {}\n", call.collective, call.bytes, call.variant);
    calls.iter().map(line).collect()
}
