//! The identity of a campaign.

use std::fmt::Write;

use launcher::{BatchOptions, Hosts, JobSpecification, LocalOptions};
use sha2::{Digest, Sha256};
use vocabulary::Cache;

use crate::{Campaign, Launching, Strategy};

/// SHA-256 of the canonical text, in hexadecimal.
pub(crate) fn digest(campaign: &Campaign) -> String {
    Sha256::digest(canonical(campaign))
        .iter()
        .fold(String::new(), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

/// One line a value. Debug forms quote texts, so that no value can look like the next line.
fn canonical(campaign: &Campaign) -> String {
    // Everything is named here so that a new key cannot be forgotten.
    let Campaign {
        name,
        library,
        launcher,
        shapes,
        sizes,
        datatype,
        operator,
        selection,
        parameters,
        strategy,
        target_regret,
        launches,
        repetitions,
        racing,
        confidence,
        materiality,
        max_regret,
        budget_seconds,
        watchdog_seconds,
        synchronisation,
        cache,
        extend_to_nodes,
        output,
        text: _,
    } = campaign;
    let (include, exclude) = selection.patterns();
    let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
    [
        format!("name {name:?}"),
        format!("library {library:?}"),
        match launcher {
            Launching::Local(options) => local(options),
            Launching::Batch(options) => batch(options),
            Launching::Simulated(options) => format!("simulated {options:?}"),
        },
        format!("shapes {shapes:?}"),
        format!("sizes {sizes:?}"),
        format!("elements {} {}", datatype.name(), operator.name()),
        format!("candidates {include:?} {exclude:?}"),
        format!("parameters {parameters:?}"),
        // Added later, when everything was exhaustive.
        match strategy {
            Strategy::Exhaustive => format!("launches {launches}"),
            Strategy::Guided => format!("launches {launches} guided {target_regret}"),
        },
        // Added later: nothing by default, so that campaigns keep their digests.
        format!(
            "repetitions {repetitions:?}{}",
            if *racing { "" } else { " all to the end" }
        ),
        // Added later as well.
        if *max_regret == Campaign::DEFAULT_MAX_REGRET {
            format!("decision {confidence} {materiality}")
        } else {
            format!("decision {confidence} {materiality} {max_regret}")
        },
        format!("seconds {budget_seconds} {watchdog_seconds}"),
        // Added later, too.
        match cache {
            Cache::Warm => format!("synchronisation {synchronisation:?}"),
            Cache::Cold => format!("synchronisation {synchronisation:?} cold"),
        },
        match extend_to_nodes {
            None => format!("output {output:?}"),
            Some(nodes) => format!("output {output:?} extended to {nodes} nodes"),
        },
    ]
    .join("\n")
}

/// What was added to these options later adds something only where it is used, so that campaigns
/// keep the digest under which they were measured.
fn local(options: &LocalOptions) -> String {
    let LocalOptions {
        options,
        oversubscribe,
        environment,
        hosts,
    } = options;
    let mut text = format!(
        "launcher LocalOptions {{ options: {options:?}, oversubscribe: {oversubscribe:?}, \
         environment: {environment:?} }}"
    );
    if let Some(Hosts { file, placement }) = hosts {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nhosts {file:?} {placement}");
    }
    text
}

/// Who pays, for how long and when makes no difference to what is asked for.
fn batch(options: &BatchOptions) -> String {
    let BatchOptions {
        system,
        job,
        options,
        environment,
        placement,
        allocation,
        spread: _,
    } = options;
    let JobSpecification {
        account: _,
        partition,
        qos: _,
        constraint,
        wall_time: _,
        exclusive,
        modules,
        directives,
        template,
    } = job;
    let template = template.as_ref().map(|template| &template.text);
    format!(
        "launcher {} {options:?} {environment:?} {placement} {allocation:?}\n\
         nodes {partition:?} {constraint:?} {exclusive} {modules:?} {directives:?} {template:?}",
        system.name()
    )
}
