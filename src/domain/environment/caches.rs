//! The caches and the available memory of this host.

use std::collections::BTreeMap;

use crate::cpus::parse;
use crate::kernel::read;

/// The assumed total size of a node's last-level caches where the kernel does not report it, in bytes. It is larger
/// than most, since a smaller size than the true one would leave the caches warm.
pub const ASSUMED_LAST_LEVEL_BYTES: u64 = 256 << 20;

/// One cache as the kernel describes it to one of its CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cache {
    /// Its level; 1 is nearest to the core.
    level: u32,
    bytes: u64,
    /// The CPUs that share it, with the same text for each of them.
    cpus: String,
}

/// Total size of all last-level caches of this host in bytes, including those of cores that this process may not use;
/// `None` if the kernel does not report it, as in some virtual machines.
pub fn last_level_bytes() -> Option<u64> {
    let online = parse(&read("/sys/devices/system/cpu/online"));
    total(online.into_iter().flat_map(caches_of))
}

/// Memory of this host that is available without swapping, in bytes; `None` if the kernel does not report it.
pub fn available_bytes() -> Option<u64> {
    available(&read("/proc/meminfo"))
}

/// The data caches of a CPU.
fn caches_of(cpu: usize) -> Vec<Cache> {
    let describe = |index: u32| {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        let of = |what: &str| read(&format!("{folder}/{what}"));
        Some(Cache {
            level: of("level").parse().ok()?,
            bytes: match of("type").as_str() {
                "Instruction" => 0,
                _ => size(&of("size")).unwrap_or(0),
            },
            cpus: of("shared_cpu_list"),
        })
    };
    (0..).map_while(describe).collect()
}

/// The total size of all distinct caches of the highest level.
fn total(caches: impl IntoIterator<Item = Cache>) -> Option<u64> {
    let mut levels: BTreeMap<u32, BTreeMap<String, u64>> = BTreeMap::new();
    for Cache { level, bytes, cpus } in caches {
        if bytes > 0 {
            levels.entry(level).or_default().insert(cpus, bytes);
        }
    }
    levels.pop_last().map(|(_, last)| last.into_values().sum())
}

/// A size as in `48K`.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    Some(digits.parse::<u64>().ok()? << shift)
}

/// The bytes in the kernel's line `MemAvailable:   23141032 kB`.
fn available(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let rest = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::{Cache, available, size, total};

    fn cache(level: u32, bytes: u64, cpus: &str) -> Cache {
        let cpus = cpus.to_owned();
        Cache { level, bytes, cpus }
    }

    #[test]
    fn caches_that_several_cpus_share_count_once() {
        let machine = [
            cache(1, 48 << 10, "0"),
            cache(3, 32 << 20, "0-1"),
            cache(1, 48 << 10, "1"),
            cache(3, 32 << 20, "0-1"),
            cache(3, 16 << 20, "2-3"),
        ];
        assert_eq!(total(machine), Some(48 << 20));
        assert_eq!(total([cache(1, 1024, "0"), cache(2, 0, "0")]), Some(1024));
        assert_eq!(total([]), None);
    }

    #[test]
    fn kernel_texts_are_read() {
        let check = |text, expected| assert_eq!(size(text), expected, "{text}");
        check("48K", Some(48 << 10));
        check("491520K", Some(480 << 20));
        check("2M", Some(2 << 20));
        check("512", Some(512));
        check("", None);
        check("3T", None);
        let meminfo = "MemTotal:  100 kB\nMemAvailable:   12 kB\nBuffers: 1 kB\n";
        assert_eq!(available(meminfo), Some(12 << 10));
        assert_eq!(available(""), None);
    }
}
