//! How ranks were started, with which settings, and where they stood.

use std::collections::{BTreeMap, BTreeSet};

use vocabulary::{CommShape, RankOrder};
use wire::Environment;

use crate::text::{code, one_line};
use crate::view::Comparison;

/// Ranks that are listed one by one.
const SHOWN: usize = 16;

/// The launcher's command line; nothing if unknown.
pub(crate) fn launcher(environment: &Environment) -> String {
    match environment.launcher.as_str() {
        "" => String::new(),
        line => code(line),
    }
}

/// What users have set in the library; empty if unknown.
pub(crate) fn settings(environment: &Environment) -> String {
    let Some(settings) = &environment.settings else {
        return String::new();
    };
    let changed: Vec<String> = settings
        .iter()
        .map(|(name, value)| code(&format!("{name}={value}")))
        .collect();
    match changed.is_empty() {
        true => "all as the library was built".to_owned(),
        false => format!("not as the library was built: {}", changed.join(", ")),
    }
}

/// The switches that the batch system named, with their nodes; nothing if it named none.
pub(crate) fn switches(environment: &Environment) -> String {
    let mut below: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let told = environment
        .nodes
        .iter()
        .filter(|node| !node.switches.is_empty());
    for node in told {
        let hosts = below.entry(&node.switches).or_default();
        hosts.push(one_line(&node.host));
    }
    let lines = below.iter().map(|(switches, hosts)| {
        let more = if hosts.len() > SHOWN {
            " and so on"
        } else {
            ""
        };
        let shown = &hosts[..hosts.len().min(SHOWN)];
        format!("{}: {}{more}", one_line(switches), shown.join(", "))
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// The order in which ranks stood on the nodes, where it is known and makes a difference; with the shapes of each
/// order if there are several.
pub(crate) fn orders(comparisons: &[Comparison]) -> String {
    let mut shapes: BTreeMap<RankOrder, BTreeSet<CommShape>> = BTreeMap::new();
    for comparison in comparisons {
        if let Some(order) = comparison.order.told_on(comparison.shape) {
            shapes.entry(order).or_default().insert(comparison.shape);
        }
    }
    let is_one = shapes.len() == 1;
    let told = shapes.iter().map(|(order, shapes)| {
        let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
        match is_one {
            true => order.to_string(),
            false => format!("{order} on {}", shapes.join(", ")),
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

/// The CPUs that each rank of the first node might use; nothing if unknown.
pub(crate) fn binding(environment: &Environment) -> String {
    let Some(node) = environment.nodes.first() else {
        return String::new();
    };
    let ranks = node.cpus.iter().take(SHOWN);
    let mut cpus: Vec<String> = ranks.map(|cpus| one_line(cpus)).collect();
    if node.cpus.len() > SHOWN {
        cpus.push("and so on".to_owned());
    }
    format!(
        "{} of {} ranks on {} bound, to CPUs {}",
        node.bound,
        node.ranks(),
        one_line(&node.host),
        cpus.join(" | ")
    )
}
