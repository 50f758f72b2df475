//! The overview: gains by collective, and recommended actions.

use libraries::LibraryName;
use maud::{Markup, html};
use statistics::geometric_mean;
use table::Deployment;
use vocabulary::Candidate;
use vocabulary::units::{format_bytes, format_counted};

use super::figure::wide_table;
use super::group::Group;
use super::kept::Kept;
use crate::grid::{TextTable, text_table};
use crate::summary::loss_headline;
use crate::text::{format_factor, or_none, short_name};
use crate::view::{Basis, View};
use results::CellDecision;

/// The section's content.
pub(super) fn overview_content(view: &View, groups: &[Group<'_>]) -> Markup {
    html! {
        p.headline { (loss_headline(view)) }
        @if groups.iter().any(|group| group.measured_cells().next().is_some()) {
            (wide_table(gains_table(view, groups)))
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
        @for cost in &view.numerics {
            p { (cost.to_string()) "." }
        }
        @if !view.failures.is_empty() {
            @let failures = if view.failures.len() == 1 { "failure" } else { "failures" };
            p { (view.failures.len()) " " (failures) " of candidates: see " a href="#failures" { "Failures" } "." }
        }
    }
}

fn gains_table(view: &View, groups: &[Group<'_>]) -> TextTable {
    let is_simulated = view.provenance.library.is_simulated();
    let library: Vec<Option<f64>> = groups
        .iter()
        .map(|group| mean_gain_in_library(group))
        .collect();
    let knows_library = library.iter().any(Option::is_some);
    let columns = "collective | default loses at> | there by> | not confirmed in time>? | over all cells> | \
                   through the library>? | most | what to do";
    let rows = groups.iter().zip(library).map(|(group, in_library)| {
        let through_library = if knows_library {
            or_none(in_library, format_factor)
        } else {
            String::new()
        };
        let advice = if is_simulated {
            "measure on the real machine"
        } else {
            recommend_action(group, in_library)
        };
        gains_row(group, through_library, advice)
    });
    text_table(columns, rows)
}

/// A collective, with its gain `through_library` and the recommended action.
fn gains_row(group: &Group<'_>, through_library: String, advice: &str) -> [String; 8] {
    let cells: Vec<&CellDecision> = group.measured_cells().collect();
    let replaced: Vec<&CellDecision> = replaced_cells(group).collect();
    [
        group.collective.to_string(),
        format!("{} of {} cells", replaced.len(), cells.len()),
        or_none(mean_gain(&replaced), format_factor),
        match count_undecided(group.measured_cells()) {
            0 => String::new(),
            undecided => format_counted(undecided, "cell"),
        },
        format_factor(mean_gain_over_all(group)),
        through_library,
        greatest_gain(&replaced),
        advice.to_owned(),
    ]
}

/// The cells in which the default loses.
fn replaced_cells<'v>(group: &Group<'v>) -> impl Iterator<Item = &'v CellDecision> {
    let cells = group.measured_cells();
    cells.filter(|result| result.replaces_default())
}

fn mean_gain(cells: &[&CellDecision]) -> Option<f64> {
    let gains = cells.iter().filter_map(|result| result.chosen_gain());
    geometric_mean(gains.map(|gain| gain.median))
}

/// The number of cells in which another candidate may be faster but was not confirmed in time.
fn count_undecided<'v>(cells: impl Iterator<Item = &'v CellDecision>) -> usize {
    cells
        .filter(|result| Kept::from_decision(result) == Some(Kept::Undecided))
        .count()
}

/// The mean gain of all choices over all cells.
fn mean_gain_over_all(group: &Group<'_>) -> f64 {
    let gain = |result| group.view.deployed_gain(result, Deployment::Colltune);
    geometric_mean(group.measured_cells().filter_map(gain)).unwrap_or(1.0)
}

/// The mean gain of the library's own algorithms over all cells; `None` if none was measured.
fn mean_gain_in_library(group: &Group<'_>) -> Option<f64> {
    let gain = |result| group.view.deployed_gain(result, Deployment::Library);
    geometric_mean(group.measured_cells().filter_map(gain))
}

/// The greatest gain.
fn greatest_gain(replaced: &[&CellDecision]) -> String {
    let gain = |result: &CellDecision| result.chosen_gain().map_or(1.0, |gain| gain.median);
    let most = replaced.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)));
    or_none(most, |result| {
        format!(
            "{} with {}, {} bytes on {}",
            format_factor(gain(result)),
            short_name(&result.chosen),
            format_bytes(result.cell.bytes),
            result.cell.shape
        )
    })
}

/// The least gain that is worth an action.
const WORTHWHILE: f64 = 1.005;

fn recommend_action(group: &Group<'_>, in_library: Option<f64>) -> &'static str {
    let by_library = in_library.filter(|gain| *gain > WORTHWHILE);
    match by_library {
        _ if replaced_cells(group).next().is_none()
            && count_undecided(group.measured_cells()) > 0 =>
        {
            "tune again with a larger budget: not all is confirmed"
        }
        _ if replaced_cells(group).next().is_none() => "keep the default",
        _ if replaced_cells(group).all(|result| group.view.why_withheld(result).is_some()) => {
            "confirm the choices: none of them is deployed"
        }
        Some(gain) if mean_gain_over_all(group) > WORTHWHILE * gain => {
            "colltune run; deploy for the library's part of the gain"
        }
        Some(_) => "colltune deploy",
        None if in_library.is_some() => "colltune run; the library's settings alone gain nothing",
        None => "colltune run",
    }
}

/// The ways in which a table's choices get into programs.
struct DeploymentNeeds {
    /// Deployed choices of colltune's own algorithms, which need its library in the program.
    run: bool,
    /// Deployed choices of the library's own algorithms, which its settings can make.
    deploy: bool,
    /// Choices that are not deployed, because they are not confirmed or have low confidence.
    withheld: bool,
    /// Whether the gain through the library's own settings is known.
    knows_library: bool,
}

impl DeploymentNeeds {
    fn from_view(view: &View) -> Self {
        let deployed = |deployment: Deployment, chosen: &Candidate, result: &CellDecision| {
            *chosen != Candidate::Default && view.why_withheld_from(result, deployment).is_none()
        };
        Self {
            run: view.cells.iter().any(|result| {
                result.chosen.is_ours() && deployed(Deployment::Colltune, &result.chosen, result)
            }),
            deploy: view.cells.iter().any(|result| {
                let chosen = result.chosen_in_library.as_ref();
                chosen.is_some_and(|chosen| deployed(Deployment::Library, chosen, result))
            }),
            withheld: !view.withheld.is_empty(),
            knows_library: view
                .cells
                .iter()
                .any(|result| result.chosen_in_library.is_some()),
        }
    }
}

/// The commands that the table's gains need.
pub(super) fn deploying_content(view: &View) -> Markup {
    if view.provenance.library.is_simulated() {
        return html! {
            p { "These times are simulated: measure on the real machine before you deploy anything." }
        };
    }
    let needs = DeploymentNeeds::from_view(view);
    let undecided = count_undecided(view.cells.iter());
    html! {
        @if !needs.run && !needs.deploy { p { "The table has no gain to deploy: keep the library's default." } }
        ol {
            @if undecided > 0 || needs.withheld { (confirming_item(undecided, needs.withheld)) }
            @if needs.run || needs.deploy { (validating_item(&needs)) }
            @if needs.run {
                li {
                    "Colltune's own algorithms need its library in the program, which stays as it is: "
                    code { "colltune run TABLE -- mpirun -n RANKS ./program" } "."
                }
            }
            @if needs.deploy { (through_library_item(view, needs.run)) }
            @if needs.run || needs.deploy {
                li {
                    "After each change of the system, for instance in continuous integration, measure whether the gain is "
                    "still there: " code { "colltune check TABLE" (deployment_option(!needs.run)) } "."
                }
                li {
                    "Programs that choose for themselves read the whole table: "
                    code { "colltune export TABLE --format c-header --output FILE" } "."
                }
            }
            @if !needs.knows_library {
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

/// How choices that are not deployed, or not decided, are confirmed.
fn confirming_item(undecided: usize, is_withheld: bool) -> Markup {
    html! {
        li {
            @if undecided > 0 {
                (format_counted(undecided, "cell")) " may have a faster candidate than the default, which was not confirmed in time. "
            }
            @if is_withheld { "Hatched choices are not deployed: they are not confirmed or have low confidence. " }
            "Give the campaign a larger " code { "budget" } ", with " code { "confirmation: on" } ", and continue: "
            code { "colltune tune CAMPAIGN" } "."
        }
    }
}

/// The test before deployment.
fn validating_item(needs: &DeploymentNeeds) -> Markup {
    html! {
        li {
            "Before you use the table, measure its gain in launches of their own: "
            code { "colltune validate TABLE" (deployment_option(!needs.run)) } "."
            @if needs.run && needs.deploy {
                " With " code { "--deployment library" } " it measures the gain through the library's settings."
            }
        }
    }
}

/// The option for the deployment through the library's settings.
fn deployment_option(is_it: bool) -> &'static str {
    if is_it { " --deployment library" } else { "" }
}

/// How the library's own algorithms are chosen for all jobs, or for some.
fn through_library_item(view: &View, has_more: bool) -> Markup {
    html! {
        li {
            "The gain of the library's own algorithms needs its settings alone"
            @if has_more { ", which leave the rest to the default" }
            ". Put them in place for the jobs of a site: " code { "colltune deploy TABLE --to FOLDER" }
            ", then " code { ". FOLDER/current/environment.sh" } " in a job. Or write only the file that the library reads: "
            code { "colltune export TABLE --format " (export_format(&view.provenance.library.name)) " --output FILE" }
            ", which says how to activate it."
        }
    }
}

/// The export format of a library, or all formats if the library is unknown.
fn export_format(library: &str) -> String {
    let own = libraries::find_library(library).and_then(|library| library.facts().formats.first());
    if let Some((_, format)) = own {
        return (*format).to_owned();
    }
    let all = LibraryName::ALL
        .iter()
        .flat_map(|known| known.facts().formats);
    all.map(|(_, format)| *format).collect::<Vec<_>>().join("|")
}
