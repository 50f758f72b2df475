//! Information of the kernel about this host.

use std::path::Path;
use std::time::Duration;

use vocabulary::Node;

use crate::cpus::{CpuBits, Topology, cpu_bits, outnumber_cpus, parse_cpu_list};
use crate::networks::{DEVICES, find_networks};

/// The CPUs that this process may use, in the kernel's notation: `0-3,8`.
pub fn own_cpus() -> String {
    let status = read_kernel_file("/proc/self/status");
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or_default().trim().to_owned()
}

/// The same as a set.
pub fn own_cpu_bits() -> CpuBits {
    cpu_bits(&own_cpus())
}

/// Whether the ranks of this node outnumber the CPUs that they may use. `cpus` are those that any of them may use, the
/// union of their [`own_cpu_bits`].
pub fn lack_cpus(ranks: u32, cpus: &CpuBits) -> bool {
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    // Fewer than this process's own CPUs, if a control group has a quota, which its ranks share; or no CPU is known.
    let is_limited =
        usable < parse_cpu_list(&own_cpus()).len() || cpus.iter().all(|word| *word == 0);
    let limit = u32::try_from(usable).ok().filter(|_| is_limited);
    outnumber_cpus(ranks, cpus, limit)
}

/// The number of cores that this process may use, at least 1.
///
/// Hardware threads of one core count once, because MPI launchers bind a rank to a core; CPU sets and control-group
/// quotas of containers and batch jobs are respected.
pub fn usable_cores() -> u32 {
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    let usable = u32::try_from(usable).unwrap_or(u32::MAX);
    // The list may name CPUs that are offline; these have no topology.
    match read_topology(&[own_cpus()]).known_cores() {
        0 => usable,
        cores => cores.min(usable),
    }
}

/// This host as a node. `ranks` are the CPUs that each of its ranks may use ([`own_cpus`]); `planned` limits the cores
/// if the commanding process, on the same host, has fewer, as under a CPU quota.
pub fn this_node(ranks: Vec<String>, planned: Option<u32>) -> Node {
    let standing = read_topology(&ranks).count_cores(&ranks);
    let bounded = |cores: u32| {
        let cores = cores.max(1);
        planned.map_or(cores, |planned| planned.clamp(1, cores))
    };
    let online = [read_kernel_file("/sys/devices/system/cpu/online")];
    Node {
        host: host_name(),
        boot: read_kernel_file("/proc/sys/kernel/random/boot_id"),
        cpu: host_cpu_model(),
        cores: bounded(standing.cores),
        available: bounded(read_topology(&online).count_cores(&online).cores),
        threads: standing.threads,
        bound: standing.bound,
        crowded: standing.crowded,
        switches: String::new(),
        networks: find_networks(Path::new(DEVICES)),
        cpus: ranks,
    }
}

/// The topology of those CPUs that ranks may use.
fn read_topology(ranks: &[String]) -> Topology {
    let cpus = ranks.iter().flat_map(|list| parse_cpu_list(list));
    let siblings = |cpu: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let list = read_kernel_file(&path);
        (!list.is_empty()).then_some((cpu, list))
    };
    Topology::new(cpus.filter_map(siblings))
}

/// This host's name.
pub fn host_name() -> String {
    read_kernel_file("/proc/sys/kernel/hostname")
}

/// This host's CPU model; empty if the kernel does not name it, as on ARM.
pub fn host_cpu_model() -> String {
    parse_cpu_model(&read_kernel_file("/proc/cpuinfo"))
}

/// Release of the running kernel.
pub fn kernel_release() -> String {
    read_kernel_file("/proc/sys/kernel/osrelease")
}

/// Frequency governor of the first CPU; empty where there is none, as in virtual machines.
pub fn frequency_governor() -> String {
    read_kernel_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// Runnable tasks besides this thread: the minimum of several observations, since every machine has short peaks. Takes
/// about 40 ms, during which other threads and ranks should sleep.
pub fn others_running() -> f64 {
    let looks = (0..8).filter_map(|_| {
        std::thread::sleep(Duration::from_millis(5));
        parse_running_tasks(&read_kernel_file("/proc/loadavg"))
    });
    let others = looks.map(|running| (running - 1.0).max(0.0));
    let least = others.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// Runnable tasks in the kernel's `0.20 0.18 0.12 1/80 11206`.
fn parse_running_tasks(loadavg: &str) -> Option<f64> {
    let tasks = loadavg.split_whitespace().nth(3)?;
    tasks.split('/').next()?.parse().ok()
}

fn parse_cpu_model(cpuinfo: &str) -> String {
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    model
        .and_then(|line| line.split_once(':'))
        .map_or("", |(_, name)| name.trim())
        .to_owned()
}

/// The trimmed text of a kernel file; empty if it cannot be read.
pub(crate) fn read_kernel_file(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{parse_cpu_model, parse_running_tasks};

    #[test]
    fn kernel_texts_are_read() {
        assert_eq!(
            parse_running_tasks("0.20 0.18 0.12 3/80 11206\n"),
            Some(3.0)
        );
        assert_eq!(parse_running_tasks(""), None);
        assert_eq!(
            parse_cpu_model("processor : 0\nmodel name\t: Some CPU @ 2GHz\n"),
            "Some CPU @ 2GHz"
        );
    }
}
