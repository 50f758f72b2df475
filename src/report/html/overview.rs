//! The overview: gains by collective, and recommended actions.

use libraries::LibraryName;
use maud::{Markup, html};
use statistics::geometric_mean;
use table::Deployment;
use vocabulary::Candidate;
use vocabulary::units::format_bytes;

use super::figure::table;
use super::group::Group;
use crate::grid::{TextTable, grid};
use crate::summary::headline;
use crate::text::{factor, or_none, short_name};
use crate::view::{Basis, View};
use results::CellDecision;

/// The section's content.
pub(super) fn overview(view: &View, groups: &[Group<'_>]) -> Markup {
    html! {
        p.headline { (headline(view)) }
        @if groups.iter().any(|group| group.measured().next().is_some()) {
            (table(numbers(view, groups)))
            p.quiet {
                @if view.basis == Basis::TableAlone { "Expected gains" } @else { "Gains" }
                " are geometric means of the default's time divided by that of the table's choice; "
                "over all cells, kept defaults and choices that are not deployed count as 1."
                @if view.cells.iter().any(|result| result.chosen_in_library.is_some()) {
                    " Through the library: with its own algorithms alone, as its settings choose them."
                }
                @if view.comparisons.iter().any(|c| c.operators == table::Operators::Noncommutative) {
                    " These are for commutative operators; the rules of each collective show others."
                }
            }
        }
        @if !view.failures.is_empty() {
            @let failures = if view.failures.len() == 1 { "failure" } else { "failures" };
            p { (view.failures.len()) " " (failures) " of candidates: see " a href="#failures" { "Failures" } "." }
        }
    }
}

fn numbers(view: &View, groups: &[Group<'_>]) -> TextTable {
    let is_simulated = view.provenance.library.is_simulated();
    let library: Vec<Option<f64>> = groups.iter().map(|group| in_library(group)).collect();
    let knows_library = library.iter().any(Option::is_some);
    let columns = "collective | default loses at> | there by> | over all cells> | \
                   through the library>? | most | what to do";
    let rows = groups.iter().zip(library).map(|(group, in_library)| {
        let library = match knows_library {
            true => or_none(in_library, factor),
            false => String::new(),
        };
        let advice = match is_simulated {
            true => "measure on the real machine",
            false => advice(group, in_library),
        };
        row(group, library, advice)
    });
    grid(columns, rows)
}

/// A collective, with its gain `through_library` and the recommended action.
fn row(group: &Group<'_>, through_library: String, advice: &str) -> [String; 7] {
    let cells: Vec<&CellDecision> = group.measured().collect();
    let replaced: Vec<&CellDecision> = replaced(group).collect();
    let deployed = cells
        .iter()
        .filter_map(|result| group.view.deployed_gain(result, Deployment::Colltune));
    [
        group.collective.to_string(),
        format!("{} of {} cells", replaced.len(), cells.len()),
        or_none(mean_gain(&replaced), factor),
        factor(geometric_mean(deployed).unwrap_or(1.0)),
        through_library,
        most(&replaced),
        advice.to_owned(),
    ]
}

/// The cells in which the default loses.
fn replaced<'v>(group: &Group<'v>) -> impl Iterator<Item = &'v CellDecision> {
    let cells = group.measured();
    cells.filter(|result| result.replaces_default())
}

fn mean_gain(cells: &[&CellDecision]) -> Option<f64> {
    let gains = cells.iter().filter_map(|result| result.gain());
    geometric_mean(gains.map(|gain| gain.median))
}

/// The mean gain of the library's own algorithms over all cells; `None` if none was measured.
fn in_library(group: &Group<'_>) -> Option<f64> {
    let gain = |result| group.view.deployed_gain(result, Deployment::Library);
    geometric_mean(group.measured().filter_map(gain))
}

/// The greatest gain.
fn most(replaced: &[&CellDecision]) -> String {
    let gain = |result: &CellDecision| result.gain().map_or(1.0, |gain| gain.median);
    let most = replaced.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)));
    or_none(most, |result| {
        format!(
            "{} with {}, {} bytes on {}",
            factor(gain(result)),
            short_name(&result.chosen),
            format_bytes(result.cell.bytes),
            result.cell.shape
        )
    })
}

/// The smallest gain for which the library's own settings are recommended.
const WORTHWHILE: f64 = 1.005;

fn advice(group: &Group<'_>, in_library: Option<f64>) -> &'static str {
    match in_library {
        _ if replaced(group).next().is_none() => "keep the default",
        _ if replaced(group).all(|result| group.view.why_withheld(result).is_some()) => {
            "confirm the choices: none of them is deployed"
        }
        Some(gain) if gain > WORTHWHILE => "export the table to the library's settings",
        Some(_) => "deploy the table; the library's settings alone gain nothing",
        None => "deploy the table",
    }
}

/// Whether the table has rules for the library's own settings that replace the default.
fn serves_library(view: &View) -> bool {
    let chosen = view.cells.iter();
    let mut chosen = chosen.filter_map(|result| result.chosen_in_library.as_ref());
    chosen.any(|candidate| *candidate != Candidate::Default)
}

/// Instructions for deploying the table.
pub(super) fn deploying(view: &View) -> Markup {
    let is_simulated = view.provenance.library.is_simulated();
    html! {
        @if is_simulated {
            p { "These times are simulated: measure on the real machine before you deploy anything." }
        } @else {
            ol {
                @if serves_library(view) {
                    li {
                        "Write the table as a file that the library reads: "
                        code { "colltune export TABLE --format " (export_format(&view.provenance.library.name)) " --output FILE" }
                        ". The file says how to activate it for one job or for all."
                    }
                }
                li {
                    "Programs that choose for themselves read the whole table: "
                    code { "colltune export TABLE --format c-header --output FILE" } "."
                }
                @if view.cells.iter().all(|result| result.chosen_in_library.is_none()) {
                    li {
                        "The gain through the library's own settings is not known: name " code { "native:*" }
                        " among the " code { "candidates" } " of the campaign, and tune again."
                    }
                }
                li { "Show the evidence for a choice: " code { "colltune explain TABLE --collective C --nodes N --ppn P --bytes B" } "." }
                li { "All numbers: " code { "colltune report STORE --format csv" } "." }
            }
        }
    }
}

/// The export format of a library, or all formats if the library is unknown.
fn export_format(library: &str) -> String {
    let own = libraries::find(library).and_then(|library| library.facts().formats.first());
    if let Some((_, format)) = own {
        return (*format).to_owned();
    }
    let all = LibraryName::ALL
        .iter()
        .flat_map(|library| library.facts().formats);
    all.map(|(_, format)| *format).collect::<Vec<_>>().join("|")
}
