//! What was measured, with what, and where.

use std::fmt::Write;

use wire::units::format_seconds;

use crate::placement::{binding, launcher, settings};
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
        match cost.seconds > 0.0 && cost.shares.is_none() {
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
    if let Some(shares) = cost.shares {
        text += &format!("Of this time: {shares}.\n\n");
    }
    if cost.left > 0 {
        text += &format!(
            "Racing saved about {} more: {} times a candidate was not measured to the end in a cell\n\
             of a launch, because another was faster for certain.\n\n",
            format_seconds(cost.saved_seconds),
            grouped(cost.left),
        );
    }
    if let Some(search) = search(view) {
        text += &format!("{search}\n\n");
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
    if let Some(cold) = environment.cold {
        let _ = writeln!(text, "- caches: {cold}");
    }
    for algorithm in &environment.preset {
        let _ = writeln!(text, "- forced by somebody: {algorithm}");
    }
    for (name, value) in &environment.variables {
        let _ = writeln!(text, "- environment: {}", code(&format!("{name}={value}")));
    }
    text
}

/// What a guided search has spent beside what measuring everything would have.
pub(crate) fn search(view: &View) -> Option<String> {
    let (cost, search) = (view.cost, view.cost.search?);
    let node_hours = |seconds: f64| seconds * f64::from(search.nodes) / 3600.0;
    Some(format!(
        "The search took {} ({:.3} node-hours); measuring everything would have taken about {}\n\
         ({:.3} node-hours), {:.1} times as long.",
        format_seconds(cost.seconds),
        node_hours(cost.seconds),
        format_seconds(search.exhaustive_seconds),
        node_hours(search.exhaustive_seconds),
        search.exhaustive_seconds / cost.seconds,
    ))
}

/// What is known of machine, library and campaign, by name; empty where it is not.
fn facts(view: &View) -> [(&'static str, String); 16] {
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
        ("settings", settings(environment)),
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
