//! Launcher, settings, placement and binding of the ranks.

use std::collections::{BTreeMap, BTreeSet};

use vocabulary::{CommShape, RankOrder};
use wire::Environment;

use crate::text::{inline_code, one_line};
use crate::view::Comparison;

/// The most ranks or hosts that are listed.
const SHOWN: usize = 16;

/// The launcher's command line; empty if unknown.
pub(crate) fn launcher_line(environment: &Environment) -> String {
    match environment.launcher.as_str() {
        "" => String::new(),
        line => inline_code(line),
    }
}

/// The user's settings of the library; empty if unknown.
pub(crate) fn settings_text(environment: &Environment) -> String {
    let Some(settings) = &environment.settings else {
        return String::new();
    };
    let changed: Vec<String> = settings
        .iter()
        .map(|(name, value)| inline_code(&format!("{name}={value}")))
        .collect();
    if changed.is_empty() {
        "the library's defaults".to_owned()
    } else {
        format!(
            "changed from the library's defaults: {}",
            changed.join(", ")
        )
    }
}

/// The network switches that the batch system reported, with their nodes; empty if it reported none.
pub(crate) fn switches_text(environment: &Environment) -> String {
    let mut below: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let known = environment
        .nodes
        .iter()
        .filter(|node| !node.switches.is_empty());
    for node in known {
        let hosts = below.entry(&node.switches).or_default();
        hosts.push(one_line(&node.host));
    }
    let lines = below.iter().map(|(switches, hosts)| {
        let more = if hosts.len() > SHOWN { ", ..." } else { "" };
        let shown = &hosts[..hosts.len().min(SHOWN)];
        format!("{}: {}{more}", one_line(switches), shown.join(", "))
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// The order of ranks on their nodes, if it is known and matters; with the shapes of each order if there are several.
pub(crate) fn rank_orders_text(comparisons: &[Comparison]) -> String {
    let mut shapes: BTreeMap<RankOrder, BTreeSet<CommShape>> = BTreeMap::new();
    for comparison in comparisons {
        if let Some(order) = comparison.order.known_on_shape(comparison.shape) {
            shapes.entry(order).or_default().insert(comparison.shape);
        }
    }
    let is_one = shapes.len() == 1;
    let texts = shapes.iter().map(|(order, shapes)| {
        let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
        if is_one {
            order.to_string()
        } else {
            format!("{order} on {}", shapes.join(", "))
        }
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// The CPUs that each rank of the first node might use; empty if unknown.
pub(crate) fn binding_text(environment: &Environment) -> String {
    let Some(node) = environment.nodes.first() else {
        return String::new();
    };
    let ranks = node.cpus.iter().take(SHOWN);
    let mut cpus: Vec<String> = ranks.map(|cpus| one_line(cpus)).collect();
    if node.cpus.len() > SHOWN {
        cpus.push("...".to_owned());
    }
    format!(
        "{} of {} ranks on {} bound, to CPUs {}",
        node.bound,
        node.ranks(),
        one_line(&node.host),
        cpus.join(" | ")
    )
}
