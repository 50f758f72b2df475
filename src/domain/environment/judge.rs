//! Warnings about the environment of measurements.

use std::collections::{BTreeMap, BTreeSet};

use vocabulary::{Node, Warning};
use wire::Environment;

use crate::variables::deciding_settings;

/// The timer resolution from which short times are visibly rounded.
const COARSE_TIMER_SECONDS: f64 = 200e-9;

/// The reasons to distrust measurements in an environment, by its other fields. Without ranks, warnings that depend on
/// them are left out.
pub fn judge_environment(environment: &Environment) -> Vec<Warning> {
    let mut warnings = placement_warnings(environment);
    warnings.extend(machine_warnings(&environment.nodes));
    if environment.load >= 1.0 {
        warnings.push(Warning::BusyMachine {
            load_percent: (environment.load * 100.0) as u32,
            cores: environment.cores,
        });
    }
    if !environment.governor.is_empty() && environment.governor != "performance" {
        warnings.push(Warning::Governor {
            name: environment.governor.clone(),
        });
    }
    if environment.timer_resolution_seconds > COARSE_TIMER_SECONDS {
        warnings.push(Warning::CoarseTimer {
            resolution_nanoseconds: (environment.timer_resolution_seconds * 1e9) as u64,
        });
    }
    let settings = steering_settings(environment);
    if !settings.is_empty() {
        warnings.push(Warning::SteeredDefault { settings });
    }
    warnings
}

/// Warnings about the placement of ranks on cores, for the worst node.
fn placement_warnings(environment: &Environment) -> Vec<Warning> {
    let nodes = &environment.nodes;
    let crowded = |node: &&Node| node.crowded > 0 && node.ranks() <= node.available;
    let excess = |node: &&Node| node.ranks().saturating_sub(node.cores);
    let mut warnings = Vec::new();
    if let Some(node) = nodes.iter().filter(crowded).max_by_key(|node| node.crowded) {
        warnings.push(Warning::CrowdedCores {
            host: node.host.clone(),
            ranks: node.crowded,
        });
    }
    let full = nodes.iter().filter(|node| !crowded(node));
    if let Some(node) = full.max_by_key(excess).filter(|node| excess(node) > 0) {
        warnings.push(Warning::Oversubscribed {
            ranks: node.ranks(),
            cores: node.cores,
        });
        return warnings;
    }
    if nodes.iter().any(|node| node.bound < node.ranks()) {
        warnings.push(Warning::Unbound);
    }
    warnings
}

/// Warnings about nodes that are one machine, and about nodes that differ.
fn machine_warnings(nodes: &[Node]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut by_boot: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for node in nodes.iter().filter(|node| !node.boot.is_empty()) {
        by_boot.entry(&node.boot).or_default().push(node);
    }
    if let Some(same) = by_boot.values().max_by_key(|same| same.len())
        && same.len() > 1
    {
        warnings.push(Warning::SharedMachine {
            nodes: same.len() as u32,
            ranks: same.iter().map(|node| node.ranks()).sum(),
            cores: same.iter().map(|node| node.available).max().unwrap_or(0),
        });
    }
    let networks: BTreeSet<&Vec<String>> = nodes
        .iter()
        .map(|node| &node.networks)
        .filter(|networks| !networks.is_empty())
        .collect();
    let describe = |node: &Node| {
        let cpu = if node.cpu.is_empty() {
            "unknown CPU"
        } else {
            &node.cpu
        };
        let cores = format!("{} cores of {cpu}", node.available);
        // Unknown networks may be the same.
        if networks.len() < 2 || node.networks.is_empty() {
            return cores;
        }
        format!("{cores}, {}", node.networks.join(" and "))
    };
    let mut kinds: BTreeMap<String, &str> = BTreeMap::new();
    for node in nodes {
        kinds.entry(describe(node)).or_insert(&node.host);
    }
    if kinds.len() > 1 {
        let kinds = kinds.iter().map(|(kind, host)| format!("{host}: {kind}"));
        warnings.push(Warning::UnlikeNodes {
            kinds: kinds.collect(),
        });
    }
    warnings
}

/// The settings that change the library's default.
fn steering_settings(environment: &Environment) -> Vec<String> {
    let Environment {
        variables,
        settings,
        library,
        ..
    } = environment;
    let mut settings = deciding_settings(variables, settings.as_ref(), library.as_ref());
    // If settings are unknown, files may force algorithms too.
    if settings.is_empty() {
        settings.extend(environment.preset.iter().cloned());
    }
    settings
}
