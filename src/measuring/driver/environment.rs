//! The environment of a launch.

use std::time::Duration;

use ::environment::{
    ASSUMED_LAST_LEVEL_BYTES, available_bytes, frequency_governor, judge_environment,
    kernel_release, last_level_bytes, others_running, own_cpus,
};
use exec::{Communicator, ExecError};
use statistics::clock::{self, ClockResolution};
use vocabulary::{Library, Node};
use wire::{ColdCaches, Environment, LAUNCHER_VARIABLE, Plan, SwitchVariables, UNTIL_VARIABLE};

use crate::error::DriverError;
use crate::rules::MpiConfiguration;
use crate::settings;
use crate::topology::Topology;

/// The interval at which ranks that wait for rank 0 check whether it is ready.
const NAP: Duration = Duration::from_millis(1);

/// Describes this rank's node. Collective over the node. The plan may know of fewer cores than are visible here.
pub(crate) fn describe_own_node(node: &Communicator, plan: &Plan) -> Result<Node, ExecError> {
    let mine = own_cpus();
    let mut ranks = Vec::new();
    for rank in 0..node.size() {
        let mut cpus = mine.clone().into_bytes();
        node.broadcast_bytes(&mut cpus, rank)?;
        ranks.push(String::from_utf8_lossy(&cpus).into_owned());
    }
    let mut known = plan.switches.iter();
    let switches =
        known.find_map(|names| switches_above_node(names, |name| std::env::var(name).ok()));
    Ok(Node {
        switches: switches.unwrap_or_default(),
        ..::environment::this_node(ranks, plan.cores)
    })
}

/// The switches above this node, from variables of the batch system. A path that ends in another node was inherited
/// from there.
fn switches_above_node(
    names: &SwitchVariables,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let (path, node) = (variable(&names.path)?, variable(&names.node)?);
    let (switches, last) = path.rsplit_once('.')?;
    (last == node).then(|| switches.to_owned())
}

/// Describes all nodes, in the order of their first ranks; the same on all ranks. Collective. `mine` is the result of
/// [`describe_own_node`].
pub(crate) fn describe_all_nodes(
    world: &Communicator,
    topology: &Topology,
    mine: &Node,
) -> Result<Vec<Node>, DriverError> {
    let mut nodes = Vec::new();
    for leader in &topology.leaders {
        let mut text = serde_json::to_vec(mine)?;
        world.broadcast_bytes(&mut text, *leader)?;
        nodes.push(serde_json::from_slice(&text)?);
    }
    Ok(nodes)
}

/// The end of the batch system's allocation, in seconds since 1970, if it is known.
pub(crate) fn allocation_end() -> Option<u64> {
    std::env::var(UNTIL_VARIABLE).ok()?.parse().ok()
}

/// Collects the environment. Collective; complete on rank 0. `nodes` is the result of [`describe_all_nodes`], `given`
/// is the configuration of MPI at the start.
pub(crate) fn collect_environment(
    world: &Communicator,
    library: Library,
    nodes: &[Node],
    given: MpiConfiguration,
) -> Result<Environment, DriverError> {
    let mut environment = Environment::default();
    let MpiConfiguration {
        variables,
        set_aside,
        components,
        ..
    } = given;
    if let (0, Some(first)) = (world.rank(), nodes.first()) {
        let clock = clock::examine_clock();
        environment = Environment {
            library: Some(library),
            library_text: exec::library_text(),
            colltune: env!("CARGO_PKG_VERSION").to_owned(),
            hosts: nodes.iter().map(|node| node.host.clone()).collect(),
            nodes: nodes.to_vec(),
            ranks: world.size(),
            cores: first.cores,
            cpu: first.cpu.clone(),
            kernel: kernel_release(),
            governor: frequency_governor(),
            load: others_running(),
            timer_resolution_seconds: clock.resolution_seconds,
            timer_overhead_seconds: clock.overhead_seconds,
            // The driver itself set these variables, unless they were set before.
            settings: settings::find_changed_settings(
                exec::enabling_variables().filter(|name| !variables.contains_key(*name)),
            ),
            variables,
            set_aside,
            launcher: std::env::var(LAUNCHER_VARIABLE).unwrap_or_default(),
            transports: exec::reported_transports()?,
            preset: exec::preset_natives()?
                .iter()
                .map(|native| native.full_name())
                .collect(),
            natives: [exec::list_natives()?, components.forceable].concat(),
            components: components.serving,
            ..environment
        };
        environment.warnings = judge_environment(&environment);
    }
    // The other ranks sleep meanwhile, so that rank 0 can measure the load of an otherwise idle machine.
    world.sleeping_barrier(NAP)?;
    Ok(environment)
}

/// The largest caches of a node, which copies of buffers must exceed. Collective.
///
/// # Errors
/// [`DriverError::NoRoom`] if the copies would take more than half of the available memory of a node, which might
/// then swap.
pub(crate) fn cold_caches(
    world: &Communicator,
    topology: &Topology,
) -> Result<ColdCaches, DriverError> {
    // The first rank of every node takes part. The maximum of negated values gives the least memory.
    let mut both = [0.0, f64::NEG_INFINITY];
    if topology.leaders.contains(&world.rank()) {
        let available = available_bytes().map_or(f64::INFINITY, |bytes| bytes as f64);
        both = [last_level_bytes().unwrap_or(0) as f64, -available];
    }
    world.maximum_over_ranks(&mut both)?;
    let [most, least] = both;
    let caches = ColdCaches {
        last_level_bytes: if most > 0.0 {
            most as u64
        } else {
            ASSUMED_LAST_LEVEL_BYTES
        },
        is_assumed: most == 0.0,
    };
    let (wanted, available) = (2 * caches.last_level_bytes, -least);
    if wanted as f64 > available / 2.0 {
        Err(DriverError::NoRoom {
            wanted,
            available: available as u64,
        })
    } else {
        Ok(caches)
    }
}

/// The coarsest clock resolution of all ranks. Collective.
pub(crate) fn coarsest_clock(world: &Communicator) -> Result<ClockResolution, ExecError> {
    let mine = clock::examine_clock();
    let mut both = [mine.overhead_seconds, mine.resolution_seconds];
    world.maximum_over_ranks(&mut both)?;
    let [overhead_seconds, resolution_seconds] = both;
    Ok(ClockResolution {
        overhead_seconds,
        resolution_seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::{SwitchVariables, switches_above_node};

    #[test]
    fn switches_are_those_above_this_node() {
        let check = |path: Option<&str>, expected: Option<&str>| {
            let names = SwitchVariables {
                path: "PATH_TO_NODE".into(),
                node: "NODE".into(),
            };
            let told = switches_above_node(&names, |name| match name {
                "PATH_TO_NODE" => path.map(str::to_owned),
                _ => Some("n7".to_owned()),
            });
            assert_eq!(told.as_deref(), expected, "{path:?}");
        };
        check(Some("spine.leaf3.n7"), Some("spine.leaf3"));
        check(Some("spine.leaf3.n8"), None);
        // Without a topology the path is the node alone.
        check(Some("n7"), None);
        check(None, None);
    }
}
