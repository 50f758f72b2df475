//! What a launch runs on, and what speaks against trusting it.

use std::collections::BTreeMap;
use std::time::Duration;

use exec::{Communicator, ExecError};
use wire::{Environment, Library, RankClock, Warning};

use crate::topology::Topology;

/// A timer step from which times near it are visibly rounded.
const COARSE_TIMER_SECONDS: f64 = 200e-9;

/// Variables of these beginnings steer how MPI libraries communicate.
const STEERING: [&str; 8] = [
    "OMPI_MCA_",
    "MPIR_CVAR_",
    "MPICH_",
    "UCX_",
    "FI_",
    "PSM2_",
    "I_MPI_",
    "PRTE_MCA_",
];

/// Open MPI's own decisions are steered by variables of this beginning.
const DECIDING: &str = "OMPI_MCA_coll_tuned_";

/// Set by Open MPI's launcher for its own purposes.
const LAUNCHER_INTERNAL: [&str; 5] = [
    "OMPI_MCA_orte_",
    "OMPI_MCA_ess",
    "OMPI_MCA_shmem_RUNTIME",
    "OMPI_MCA_pmix",
    "OMPI_MCA_initial_wdir",
];

/// Collects the environment. Collective; complete on rank 0. `cores` as [`cores`] says, `variables`
/// are the [`steering_variables`] at start.
pub(crate) fn collect(
    world: &Communicator,
    node: &Communicator,
    topology: &Topology,
    library: Library,
    cores: u32,
    variables: BTreeMap<String, String>,
) -> Result<Environment, ExecError> {
    let visible = allowed_cores(node)?;
    let hosts = host_names(world, topology)?;
    let mut environment = Environment::default();
    if world.rank() == 0 {
        let clock = statistics::clock::examine();
        let mine = allowed(&read("/proc/self/status")).len();
        let bound = mine < visible as usize || visible == 1;
        environment = Environment {
            library: Some(library),
            library_text: exec::library_text(),
            colltune: env!("CARGO_PKG_VERSION").to_owned(),
            hosts,
            ranks: world.size(),
            cores,
            cpu: cpu_model(&read("/proc/cpuinfo")),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .trim()
                .to_owned(),
            load: others_running(),
            timer_resolution_seconds: clock.resolution_seconds,
            timer_overhead_seconds: clock.overhead_seconds,
            variables,
            natives: exec::natives()?,
            clocks: Vec::new(),
            warnings: Vec::new(),
        };
        environment.warnings = warnings(&environment, node.size(), bound);
    }
    // The others sleep meanwhile, so that rank 0 sees whether the machine is otherwise idle.
    world.sleeping_barrier(Duration::from_millis(1))?;
    Ok(environment)
}

/// Cores of this rank's node that its ranks may use. Collective over the node. `planned` bounds
/// them, where the plan knows of less than can be seen from here.
pub(crate) fn cores(node: &Communicator, planned: Option<u32>) -> Result<u32, ExecError> {
    Ok(usable_cores(allowed_cores(node)?, planned))
}

/// Adds what was learned of a global clock, and what speaks against using it here.
pub(crate) fn note_clocks(environment: &mut Environment, clocks: Vec<RankClock>) {
    environment.clocks = clocks;
    let is_crowded = |warning: &Warning| matches!(warning, Warning::Oversubscribed { .. });
    if environment.warnings.iter().any(is_crowded) {
        environment.warnings.push(Warning::CrowdedWindows);
    }
}

fn warnings(environment: &Environment, ranks_on_node: u32, bound: bool) -> Vec<Warning> {
    let cores = environment.cores;
    let mut warnings = Vec::new();
    let oversubscribed = ranks_on_node > cores;
    if oversubscribed {
        warnings.push(Warning::Oversubscribed {
            ranks: ranks_on_node,
            cores,
        });
    }
    if environment.load >= 1.0 {
        let load_percent = (environment.load * 100.0) as u32;
        warnings.push(Warning::BusyMachine {
            load_percent,
            cores,
        });
    }
    if !bound && !oversubscribed {
        warnings.push(Warning::Unbound);
    }
    if !environment.governor.is_empty() && environment.governor != "performance" {
        warnings.push(Warning::Governor {
            name: environment.governor.clone(),
        });
    }
    if environment.timer_resolution_seconds > COARSE_TIMER_SECONDS {
        let resolution_nanoseconds = (environment.timer_resolution_seconds * 1e9) as u64;
        warnings.push(Warning::CoarseTimer {
            resolution_nanoseconds,
        });
    }
    warnings
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The kernel counts hardware threads and knows of no quota: the plan may know of fewer cores.
fn usable_cores(visible: u32, planned: Option<u32>) -> u32 {
    planned.map_or(visible, |cores| cores.clamp(1, visible))
}

/// CPUs that the node's ranks may use between them. Collective over the node.
fn allowed_cores(node: &Communicator) -> Result<u32, ExecError> {
    const MOST: usize = 4096;
    let mut used = vec![0.0; MOST];
    for core in allowed(&read("/proc/self/status")) {
        if let Some(slot) = used.get_mut(core) {
            *slot = 1.0;
        }
    }
    node.maximum(&mut used)?;
    Ok(used.iter().filter(|used| **used > 0.0).count().max(1) as u32)
}

/// The cores in the kernel's `Cpus_allowed_list` of a process, as in `0-3,8`.
fn allowed(status: &str) -> Vec<usize> {
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap_or_default();
    list.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
        })
        .flatten()
        .collect()
}

fn cpu_model(cpuinfo: &str) -> String {
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    model
        .and_then(|line| line.split_once(':'))
        .map_or("", |(_, name)| name.trim())
        .to_owned()
}

/// Runnable tasks beside this thread: the least of a few looks, since all machines have moments.
fn others_running() -> f64 {
    let look = || -> Option<f64> {
        let text = read("/proc/loadavg");
        let running: f64 = text
            .split_whitespace()
            .nth(3)?
            .split('/')
            .next()?
            .parse()
            .ok()?;
        Some((running - 1.0).max(0.0))
    };
    (0..8)
        .filter_map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            look()
        })
        .fold(f64::INFINITY, f64::min)
        .min(1e6)
}

/// Whether the library's algorithms may be made forcible: that must not bring settings to life that
/// somebody has made and that have no effect on the default as it is.
pub(crate) fn may_force(variables: &BTreeMap<String, String>) -> bool {
    !variables.keys().any(|name| name.starts_with(DECIDING))
}

/// The environment variables that steer MPI libraries, as the user and the launcher have set them.
pub(crate) fn steering_variables() -> BTreeMap<String, String> {
    let begins = |name: &str, with: &[&str]| with.iter().any(|begin| name.starts_with(begin));
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| begins(name, &STEERING) && !begins(name, &LAUNCHER_INTERNAL))
        .collect()
}

/// The name of each node. Collective.
fn host_names(world: &Communicator, topology: &Topology) -> Result<Vec<String>, ExecError> {
    let mut names = Vec::new();
    for leader in &topology.leaders {
        let mut name = read("/proc/sys/kernel/hostname").trim().as_bytes().to_vec();
        world.share(&mut name, *leader)?;
        names.push(String::from_utf8_lossy(&name).into_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::{allowed, cpu_model, usable_cores, warnings};
    use wire::{Environment, Warning};

    #[test]
    fn oversubscription_goes_by_the_cores_that_may_be_used() {
        let check = |visible, planned, ranks, expected: &[Warning]| {
            let environment = Environment {
                cores: usable_cores(visible, planned),
                ..Environment::default()
            };
            assert_eq!(warnings(&environment, ranks, true), expected);
        };
        let oversubscribed = |ranks, cores| [Warning::Oversubscribed { ranks, cores }];
        check(8, None, 8, &[]);
        check(8, Some(4), 4, &[]);
        check(8, Some(4), 8, &oversubscribed(8, 4));
        check(2, Some(4), 4, &oversubscribed(4, 2));
        check(2, Some(0), 2, &oversubscribed(2, 1));
    }

    #[test]
    fn kernel_texts_are_read() {
        assert_eq!(
            allowed("Name:\tx\nCpus_allowed_list:\t0-2,8\n"),
            [0, 1, 2, 8]
        );
        assert!(allowed("").is_empty());
        assert_eq!(
            cpu_model("processor : 0\nmodel name\t: Some CPU @ 2GHz\n"),
            "Some CPU @ 2GHz"
        );
    }
}
