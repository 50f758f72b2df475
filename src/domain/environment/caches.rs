//! The caches and the available memory of this host.

use std::collections::BTreeMap;

use crate::cpus::parse_cpu_list;
use crate::kernel::read_kernel_file;

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
    let online = parse_cpu_list(&read_kernel_file("/sys/devices/system/cpu/online"));
    total_last_level(online.into_iter().flat_map(caches_of_cpu))
}

/// Memory of this host that is available without swapping, in bytes; `None` if the kernel does not report it.
pub fn available_bytes() -> Option<u64> {
    parse_available_bytes(&read_kernel_file("/proc/meminfo"))
}

/// The data caches of a CPU.
fn caches_of_cpu(cpu: usize) -> Vec<Cache> {
    let describe = |index: u32| {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        let of = |what: &str| read_kernel_file(&format!("{folder}/{what}"));
        Some(Cache {
            level: of("level").parse().ok()?,
            bytes: match of("type").as_str() {
                "Instruction" => 0,
                _ => parse_cache_size(&of("size")).unwrap_or(0),
            },
            cpus: of("shared_cpu_list"),
        })
    };
    (0..).map_while(describe).collect()
}

/// The total size of all distinct caches of the highest level.
fn total_last_level(caches: impl IntoIterator<Item = Cache>) -> Option<u64> {
    let mut levels: BTreeMap<u32, BTreeMap<String, u64>> = BTreeMap::new();
    for Cache { level, bytes, cpus } in caches {
        if bytes > 0 {
            levels.entry(level).or_default().insert(cpus, bytes);
        }
    }
    levels.pop_last().map(|(_, last)| last.into_values().sum())
}

/// A size as in `48K`.
fn parse_cache_size(text: &str) -> Option<u64> {
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
fn parse_available_bytes(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let rest = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::{Cache, parse_available_bytes, parse_cache_size, total_last_level};

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
        assert_eq!(total_last_level(machine), Some(48 << 20));
        assert_eq!(
            total_last_level([cache(1, 1024, "0"), cache(2, 0, "0")]),
            Some(1024)
        );
        assert_eq!(total_last_level([]), None);
    }

    #[test]
    fn kernel_texts_are_read() {
        let check = |text, expected| assert_eq!(parse_cache_size(text), expected, "{text}");
        check("48K", Some(48 << 10));
        check("491520K", Some(480 << 20));
        check("2M", Some(2 << 20));
        check("512", Some(512));
        check("", None);
        check("3T", None);
        let meminfo = "MemTotal:  100 kB\nMemAvailable:   12 kB\nBuffers: 1 kB\n";
        assert_eq!(parse_available_bytes(meminfo), Some(12 << 10));
        assert_eq!(parse_available_bytes(""), None);
    }
}
