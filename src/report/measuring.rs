//! What was measured, with what, and where.

use std::fmt::Write;

use wire::units::format_seconds;

use crate::placement::{binding, launcher};
use crate::repetitions::repetitions;
use crate::text::{code, grouped, one_line, percent};
use crate::view::View;

/// The section.
pub(crate) fn measuring(view: &View) -> String {
    let (provenance, environment, cost) = (&view.provenance, &view.environment, view.cost);
    let mut text = format!(
        "## How it was measured\n\n{} of {}{} in {} launches: {} cells, {} repetitions.\n\n",
        format_seconds(cost.seconds),
        match provenance.library.is_simulated() {
            true => "simulated time",
            false => "measuring",
        },
        match cost.seconds > 0.0 {
            true => format!(
                ", {} in the calls,",
                percent(cost.call_seconds / cost.seconds)
            ),
            false => String::new(),
        },
        provenance.launches,
        cost.cells,
        grouped(cost.repetitions),
    );
    if cost.left > 0 {
        text += &format!(
            "Racing saved about {} more: {} times a candidate was not measured to the end in a cell\n\
             of a launch, because another was faster for certain.\n\n",
            format_seconds(cost.saved_seconds),
            grouped(cost.left),
        );
    }
    text += &repetitions(&view.repetitions);
    for (name, fact) in facts(view) {
        let fact = if fact.is_empty() {
            "unknown".to_owned()
        } else {
            fact
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {name}: {fact}");
    }
    for algorithm in &environment.preset {
        let _ = writeln!(text, "- forced by somebody: {algorithm}");
    }
    for (name, value) in &environment.variables {
        let _ = writeln!(text, "- environment: {}", code(&format!("{name}={value}")));
    }
    text
}

/// What is known of machine, library and campaign, by name; empty where it is not.
fn facts(view: &View) -> [(&'static str, String); 15] {
    let (provenance, environment) = (&view.provenance, &view.environment);
    [
        ("campaign", code(&provenance.campaign)),
        ("store", code(&provenance.store)),
        (
            "library",
            format!(
                "{} ({})",
                provenance.library,
                one_line(&environment.library_text)
            ),
        ),
        ("colltune", provenance.colltune.clone()),
        ("date", provenance.date.clone()),
        ("hosts", one_line(&provenance.hosts.join(", "))),
        ("CPU", one_line(&provenance.cpu)),
        ("launcher", launcher(environment)),
        ("binding", binding(environment)),
        ("transports", one_line(&environment.transports.join(", "))),
        ("kernel", one_line(&environment.kernel)),
        ("governor", one_line(&environment.governor)),
        (
            "ranks",
            format!("{} on {} cores", environment.ranks, environment.cores),
        ),
        (
            "timer",
            format!(
                "resolution {}, overhead {}",
                format_seconds(environment.timer_resolution_seconds),
                format_seconds(environment.timer_overhead_seconds)
            ),
        ),
        (
            "common starts",
            view.starts
                .map_or_else(String::new, |starts| starts.to_string()),
        ),
    ]
}
