//! The section on measuring and provenance.

use std::fmt::Write;

use results::OftenInvalid;
use vocabulary::ServingComponent;
use vocabulary::units::{format_count, format_counted, format_seconds};

use crate::placement::{
    binding_text, launcher_line, rank_orders_text, settings_text, switches_text,
};
use crate::repetitions;
use crate::text::{format_factor, format_percent, inline_code, markdown_prose, one_line};
use crate::view::{Basis, View};

pub(crate) fn measuring_section(view: &View) -> String {
    let mut text = "## How it was measured\n\n".to_owned();
    for paragraph in measuring_paragraphs(view) {
        text += &format!("{paragraph}\n\n");
    }
    for (warning, found) in repetitions::invalid_warnings(&view.repetitions) {
        if !found.is_empty() {
            let warning = warning.replace('\n', "\n> ");
            text += &format!("> **Warning:** {warning}:\n>\n{}\n", list_invalid(found));
        }
    }
    for (name, fact) in list_facts(view) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {name}: {}", markdown_prose(&fact));
    }
    text
}

/// Paragraphs about the measuring time and its quality; none for a table alone.
pub(crate) fn measuring_paragraphs(view: &View) -> Vec<String> {
    let (provenance, cost) = (&view.provenance, view.cost);
    if view.basis == Basis::TableAlone {
        return Vec::new();
    }
    let mut paragraphs = vec![format!(
        "{} of {}{} in {}: {}, {}.",
        format_seconds(cost.seconds),
        if provenance.library.is_simulated() {
            "simulated time"
        } else {
            "measuring"
        },
        if cost.seconds > 0.0 && cost.shares.is_none() {
            format!(
                ", {} in the calls,",
                format_percent(cost.call_seconds / cost.seconds)
            )
        } else {
            String::new()
        },
        format_counted(provenance.launches, "launch"),
        format_counted(cost.cells, "cell"),
        format_counted(format_count(cost.repetitions), "repetition"),
    )];
    if let Some(shares) = cost.shares {
        paragraphs.push(format!("Of this time: {shares}."));
    }
    paragraphs.extend(launching_sentence(view));
    if cost.races.left > 0 {
        let saved = if cost.races.saved_seconds >= 1e-9 {
            format!(
                ", which\nsaved about {}",
                format_seconds(cost.races.saved_seconds)
            )
        } else {
            String::new()
        };
        paragraphs.push(format!(
            "Candidates were eliminated early {} because another was significantly faster{saved}.",
            format_counted(format_count(cost.races.left), "time"),
        ));
    }
    paragraphs.extend(confirming_sentence(view));
    paragraphs.extend(detectable_sentence(view));
    paragraphs.extend(search_sentence(view));
    paragraphs.extend(repetitions::describe_unusual(&view.repetitions));
    paragraphs
}

fn list_invalid(found: &[OftenInvalid]) -> String {
    let line = |one: &OftenInvalid| {
        format!(
            "> - {} in {}: {} of {}\n",
            markdown_prose(&one.candidate.to_string()),
            one.cell,
            format_count(one.invalid),
            format_count(one.repetitions)
        )
    };
    found.iter().map(line).collect()
}

/// Facts about machine, library and campaign: names and Markdown texts.
pub(crate) fn list_facts(view: &View) -> Vec<(&'static str, String)> {
    let environment = &view.environment;
    let mut facts = provenance_facts(view);
    let orders = rank_orders_text(&view.comparisons);
    if !orders.is_empty() {
        facts.push(("order of ranks", orders));
    }
    if view.basis == Basis::TableAlone {
        facts.push(("launches", view.provenance.launches.to_string()));
        return facts;
    }
    facts.extend(environment_facts(view));
    for (_, fact) in &mut facts {
        if fact.is_empty() {
            "unknown".clone_into(fact);
        }
    }
    let cold = environment.cold.iter();
    facts.extend(cold.map(|cold| ("caches", cold.to_string())));
    let preset = environment.preset.iter();
    facts.extend(preset.map(|algorithm| ("forced by settings", algorithm.clone())));
    let variables = environment.variables.iter();
    facts.extend(
        variables.map(|(name, value)| ("environment", inline_code(&format!("{name}={value}")))),
    );
    facts
}

/// A sentence about the time of launches beside that of measuring; `None` if it is unknown or there was none.
pub(crate) fn launching_sentence(view: &View) -> Option<String> {
    let cost = view.cost;
    (cost.launching_seconds > 0.0).then(|| {
        format!(
            "Starting and ending {}, with any unfinished measurements, took {} more,\n\
             which counts against the budget too.",
            format_counted(cost.launches, "launch"),
            format_seconds(cost.launching_seconds),
        )
    })
}

/// A sentence about the part of measuring time that confirmed choices; `None` if there was none.
pub(crate) fn confirming_sentence(view: &View) -> Option<String> {
    let cost = view.cost;
    (cost.confirming_seconds > 0.0).then(|| {
        format!(
            "Confirming choices in fresh launches took {} of that, {}.",
            format_percent(cost.confirming_seconds / cost.seconds),
            format_seconds(cost.confirming_seconds),
        )
    })
}

/// A sentence about the noise between launches and the gain that it hides; `None` if it is unknown.
pub(crate) fn detectable_sentence(view: &View) -> Option<String> {
    let found = view.cost.detectable?;
    Some(format!(
        "Speed-ups vary by {} between launches. With this noise, gains from {} on are confirmed in at\n\
         least four of five cases, smaller ones less often.",
        format_percent(found.noise),
        format_factor(found.gain),
    ))
}

/// A sentence about the time of a guided search and that of measuring everything; `None` without a gain.
pub(crate) fn search_sentence(view: &View) -> Option<String> {
    let (cost, effort) = (view.cost, view.cost.effort?);
    let factor = effort.exhaustive_seconds / cost.seconds;
    // Less would be shown as 1.0.
    if factor < 1.05 {
        return None;
    }
    let node_hours = |seconds: f64| seconds * f64::from(effort.nodes) / 3600.0;
    Some(format!(
        "The search took {} ({:.3} node-hours); measuring everything would have taken about {}\n\
         ({:.3} node-hours), {factor:.1} times as long{}.",
        format_seconds(cost.seconds),
        node_hours(cost.seconds),
        format_seconds(effort.exhaustive_seconds),
        node_hours(effort.exhaustive_seconds),
        if cost.confirming_seconds > 0.0 {
            ", both including the confirmation of choices"
        } else {
            ""
        },
    ))
}

fn provenance_facts(view: &View) -> Vec<(&'static str, String)> {
    let (provenance, environment) = (&view.provenance, &view.environment);
    let library = match environment.library_text.as_str() {
        "" => provenance.library.to_string(),
        text => format!("{} ({})", provenance.library, one_line(text)),
    };
    let mut facts = vec![
        ("campaign", inline_code(&provenance.campaign)),
        ("store", inline_code(&provenance.store)),
        ("library", library),
        ("colltune", provenance.colltune.clone()),
        ("date", provenance.date.clone()),
        ("hosts", one_line(&provenance.hosts.join(", "))),
        ("CPU", one_line(&provenance.cpu)),
    ];
    if !provenance.networks.is_empty() {
        facts.push(("networks", one_line(&provenance.networks.join(", "))));
    }
    if !provenance.pattern.is_together() {
        let times = provenance.pattern.describe();
        let predicted = "predictions of the model are for calls that begin together";
        facts.push(("pattern", format!("times of {times}; {predicted}")));
    }
    facts
}

/// The components of the library with the collectives that each carries out by default; empty if unknown.
fn components_text(serving: &[ServingComponent]) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut before: Option<&ServingComponent> = None;
    for one in serving {
        let name = one.collective.name();
        let is_same = before.is_some_and(|last| {
            (&last.component, last.over_nodes) == (&one.component, one.over_nodes)
        });
        // The library's list has the collectives of a component one after the other.
        match texts.last_mut().filter(|_| is_same) {
            Some(text) => *text += &format!(", {name}"),
            None => {
                let place = if one.over_nodes {
                    " over several nodes"
                } else {
                    ""
                };
                texts.push(format!("{}{place} for {name}", one.component));
            }
        }
        before = Some(one);
    }
    one_line(&texts.join("; "))
}

fn environment_facts(view: &View) -> Vec<(&'static str, String)> {
    let environment = &view.environment;
    let mut facts = vec![
        ("launcher", launcher_line(environment)),
        ("binding", binding_text(environment)),
        ("transports", one_line(&environment.transports.join(", "))),
        ("settings", settings_text(environment)),
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
    ];
    let components = components_text(&environment.components);
    if !components.is_empty() {
        facts.insert(3, ("components", components));
    }
    // Few batch systems report switches.
    let switches = switches_text(environment);
    if !switches.is_empty() {
        facts.insert(2, ("switches", switches));
    }
    facts
}

#[cfg(test)]
mod tests {
    use schedule::Collective;
    use vocabulary::ServingComponent;

    use super::components_text;

    #[test]
    fn components_are_named_once_for_each_place() {
        let one = |component: &str, collective, over_nodes| ServingComponent {
            collective,
            component: component.to_owned(),
            over_nodes,
        };
        let serving = [
            one("tuned", Collective::Bcast, false),
            one("tuned", Collective::Reduce, false),
            one("basic", Collective::Gatherv, false),
            one("han", Collective::Bcast, true),
        ];
        assert_eq!(
            components_text(&serving),
            "tuned for bcast, reduce; basic for gatherv; han over several nodes for bcast"
        );
        assert_eq!(components_text(&[]), "");
    }
}
