//! The cores of this machine.

use std::collections::BTreeSet;
use std::fs;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// Number of cores that this process may use, at least 1.
///
/// Hardware threads of one core count once, because MPI launchers bind a rank to a core; CPU sets
/// and control-group quotas of containers and batch jobs are respected.
pub fn cores() -> u32 {
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = physical_cores().map_or(usable, |physical| physical.min(usable));
    u32::try_from(cores).unwrap_or(u32::MAX).max(1)
}

fn physical_cores() -> Option<usize> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let cores: BTreeSet<String> = (0..CpuSet::count())
        .filter(|&cpu| allowed.is_set(cpu).unwrap_or(false))
        .map(|cpu| siblings(cpu).unwrap_or_else(|| cpu.to_string()))
        .collect();
    (!cores.is_empty()).then_some(cores.len())
}

/// The hardware threads of a CPU's core in the kernel's notation, equal for all of them.
fn siblings(cpu: usize) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    fs::read_to_string(path)
        .ok()
        .map(|list| list.trim().to_owned())
}
