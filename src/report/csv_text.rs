//! A report as comma-separated values: one row a cell, class of operators and candidate.

use std::io;

use csv::Writer;
use vocabulary::Candidate;

use crate::cells::{CellResult, Timed};
use crate::view::{Ratio, View};

/// The columns. Times are seconds, sizes bytes; what is not known or does not apply is empty.
///
/// | column | is |
/// |---|---|
/// | `collective` | the collective |
/// | `operators` | the operators that the choice holds for: `any`, `commutative`, `noncommutative` |
/// | `datatype`, `operator` | what was measured with, where elements are combined |
/// | `nodes`, `ppn` | nodes, and ranks on each |
/// | `bytes` | size of the call, as tables define it for the collective |
/// | `candidate` | its full name |
/// | `seconds` | median time over launches |
/// | `seconds_low`, `seconds_high` | the interval of that median |
/// | `launches`, `repetitions` | what it rests on |
/// | `speedup` | the default's time divided by the candidate's, paired inside launches: the median |
/// | `speedup_low`, `speedup_high` | its interval |
/// | `speedup_coverage` | probability with which that interval covers the true median |
/// | `chosen_colltune`, `chosen_library` | whether the table chooses it: of all candidates, and of the library's own |
/// | `expected_seconds` | what the model expects |
/// | `source` | `measured`, or `model` where nothing was measured on that shape |
/// | `verdict` | what became of the cell's best candidate beside the default |
pub const CSV_COLUMNS: [&str; 22] = [
    "collective",
    "operators",
    "datatype",
    "operator",
    "nodes",
    "ppn",
    "bytes",
    "candidate",
    "seconds",
    "seconds_low",
    "seconds_high",
    "launches",
    "repetitions",
    "speedup",
    "speedup_low",
    "speedup_high",
    "speedup_coverage",
    "chosen_colltune",
    "chosen_library",
    "expected_seconds",
    "source",
    "verdict",
];

/// All cells with all candidates, under [`CSV_COLUMNS`].
///
/// # Errors
/// None that memory does not cause.
pub fn render_csv(view: &View) -> io::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(CSV_COLUMNS)?;
    for cell in &view.cells {
        for timed in &cell.candidates {
            writer.write_record(row(cell, timed))?;
        }
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| io::Error::other(error.to_string()))?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

fn row(result: &CellResult, timed: &Timed) -> [String; CSV_COLUMNS.len()] {
    let cell = &result.cell;
    let is_chosen = |chosen: &Candidate| yes_or_no(*chosen == timed.candidate);
    let interval = |end: usize| optional(timed.interval.map(|ends| ends[end]));
    let speedup = |of: fn(&Ratio) -> f64| optional(timed.speedup.as_ref().map(of));
    let certain = timed.speedup.filter(|speedup| speedup.coverage > 0.0);
    let speedup_interval = |of: fn(&Ratio) -> f64| optional(certain.as_ref().map(of));
    let count = |count: u64| match count {
        0 => String::new(),
        count => count.to_string(),
    };
    let datatype = match cell.operator {
        Some(_) => cell.datatype.name(),
        None => "",
    };
    [
        cell.collective.name().to_owned(),
        result.operators.name().to_owned(),
        datatype.to_owned(),
        cell.operator
            .map_or_else(String::new, |operator| operator.name().to_owned()),
        cell.shape.nodes.to_string(),
        cell.shape.ppn.to_string(),
        cell.bytes.to_string(),
        timed.candidate.to_string(),
        optional(Some(timed.seconds)),
        interval(0),
        interval(1),
        count(timed.launches.into()),
        count(timed.repetitions),
        speedup(|ratio| ratio.value),
        speedup_interval(|ratio| ratio.low),
        speedup_interval(|ratio| ratio.high),
        speedup_interval(|ratio| ratio.coverage),
        is_chosen(&result.chosen),
        result
            .chosen_in_library
            .as_ref()
            .map_or_else(String::new, is_chosen),
        optional(timed.expected_seconds),
        result.source.name().to_owned(),
        result.verdict.to_string(),
    ]
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// The shortest decimal that reads back as the same number.
fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| match value.abs() {
        small if small > 0.0 && small < 1e-3 => format!("{value:e}"),
        _ => value.to_string(),
    })
}
