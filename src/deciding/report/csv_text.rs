//! A report as comma-separated values: one row per cell, class of operators and candidate.

use std::io;

use csv::Writer;
use printable::Plain;
use results::{CellDecision, Ranked};
use statistics::Interval;
use table::RuleSource;
use vocabulary::Candidate;

use crate::text::verdict_text;
use crate::view::View;

/// The columns, which the help text of `colltune report` explains. Times are in seconds, sizes in bytes; values that
/// are unknown or do not apply are empty.
const COLUMNS: &str = "collective operators datatype operator distribution nodes ppn bytes candidate seconds seconds_low \
                       seconds_high launches repetitions speedup speedup_low speedup_high speedup_coverage \
                       speedup_launches chosen_colltune chosen_library expected_seconds source verdict";

/// The number of columns.
const WIDTH: usize = 24;

/// All cells with all candidates, under a header.
///
/// # Errors
/// Only for lack of memory.
pub fn render_csv(view: &View) -> io::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS.split(' '))?;
    for cell in &view.cells {
        for ranked in &cell.ranking {
            writer.write_record(candidate_row(cell, ranked))?;
        }
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| io::Error::other(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok(Plain(text).to_string())
}

fn candidate_row(result: &CellDecision, ranked: &Ranked) -> [String; WIDTH] {
    let cell = &result.cell;
    let is_chosen = |chosen: &Candidate| yes_or_no(*chosen == ranked.candidate);
    let known_ends = |interval: Option<Interval>| interval.and_then(|known| known.known_ends());
    let low_end = |interval| optional_number(known_ends(interval).map(|[low, _]| low));
    let high_end = |interval| optional_number(known_ends(interval).map(|[_, high]| high));
    let of_time = Some(ranked.interval);
    let of_speedup = ranked.speedup.map(|speedup| speedup.interval);
    let certain = of_speedup.filter(|interval| interval.known_ends().is_some());
    let count = |count: u64| match count {
        0 => String::new(),
        _ => count.to_string(),
    };
    let datatype = match cell.operator {
        Some(_) => cell.datatype.name(),
        None => "",
    };
    let source = if result.is_measured() {
        RuleSource::Measured
    } else {
        RuleSource::Model
    };
    [
        cell.collective.name().to_owned(),
        result.operators.to_string(),
        datatype.to_owned(),
        cell.operator
            .map_or_else(String::new, |operator| operator.name().to_owned()),
        if cell.collective.is_irregular() {
            cell.distribution.name().to_owned()
        } else {
            String::new()
        },
        cell.shape.nodes.to_string(),
        cell.shape.ppn.to_string(),
        cell.bytes.to_string(),
        ranked.candidate.to_string(),
        optional_number(Some(ranked.median_seconds)),
        low_end(of_time),
        high_end(of_time),
        count(ranked.counts.launches.into()),
        count(ranked.counts.repetitions),
        optional_number(ranked.speedup.map(|speedup| speedup.median)),
        low_end(of_speedup),
        high_end(of_speedup),
        optional_number(certain.map(|interval| interval.coverage)),
        count(ranked.speedup.map_or(0, |speedup| speedup.launches.into())),
        is_chosen(&result.chosen),
        result
            .chosen_in_library
            .as_ref()
            .map_or_else(String::new, is_chosen),
        optional_number(ranked.predicted_seconds),
        source.to_string(),
        verdict_text(result),
    ]
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// The shortest decimal that reads back as the same number.
fn optional_number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| match value.abs() {
        small if small > 0.0 && small < 1e-3 => format!("{value:e}"),
        _ => value.to_string(),
    })
}
