//! Cores, and the ranks that share them.

use std::collections::{BTreeMap, BTreeSet};

/// The hardware threads of a machine and the cores that they belong to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topology {
    /// By CPU number, the list of its core's CPUs, with the same text for each of them.
    siblings: BTreeMap<usize, String>,
}

/// The placement of ranks on a node's cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CoreCounts {
    /// CPUs that the ranks may use, over all ranks.
    pub(crate) threads: u32,
    /// Cores of these CPUs.
    pub(crate) cores: u32,
    /// Ranks that may not use all of these cores; all ranks if there is only one core.
    pub(crate) bound: u32,
    /// Ranks bound to a single core to which another rank is also bound.
    pub(crate) crowded: u32,
}

impl Topology {
    /// Reads the kernel's list of siblings of each CPU. A CPU without such a list counts as one core.
    pub(crate) fn new(siblings: impl IntoIterator<Item = (usize, String)>) -> Self {
        Self {
            siblings: siblings.into_iter().collect(),
        }
    }

    /// The number of cores whose topology is known.
    pub(crate) fn known_cores(&self) -> u32 {
        self.siblings.values().collect::<BTreeSet<_>>().len() as u32
    }

    fn cores_of_cpus(&self, cpus: &BTreeSet<usize>) -> BTreeSet<String> {
        let core = |cpu: &usize| self.siblings.get(cpu).cloned();
        let cores = cpus.iter().map(|cpu| core(cpu).unwrap_or(cpu.to_string()));
        cores.collect()
    }

    /// Counts cores from the lists of CPUs that each rank may use.
    pub(crate) fn count_cores(&self, ranks: &[String]) -> CoreCounts {
        let ranks: Vec<BTreeSet<usize>> = ranks.iter().map(|list| parse_cpu_list(list)).collect();
        let all: BTreeSet<usize> = ranks.iter().flatten().copied().collect();
        let cores = self.cores_of_cpus(&all);
        let mut bound = 0;
        let mut alone: BTreeMap<String, u32> = BTreeMap::new();
        for cpus in &ranks {
            let own = self.cores_of_cpus(cpus);
            bound += u32::from(own.len() < cores.len() || cores.len() == 1);
            if let (Some(core), 1) = (own.first(), own.len()) {
                *alone.entry(core.clone()).or_default() += 1;
            }
        }
        CoreCounts {
            threads: all.len() as u32,
            cores: cores.len() as u32,
            bound,
            crowded: alone.values().filter(|count| **count > 1).sum(),
        }
    }
}

/// A list of CPUs as the kernel writes it: `0-3,8`.
pub(crate) fn parse_cpu_list(list: &str) -> BTreeSet<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    };
    let parts = list.trim().split(',');
    parts.filter_map(range).flatten().collect()
}

/// A set of CPUs: CPU `c` is bit `c % 64` of word `c / 64`. It has room for the most CPUs that Linux supports.
pub type CpuBits = [u64; WORDS];

const WORDS: usize = 128;

/// A list of CPUs as the kernel writes it, as a set.
pub(crate) fn cpu_bits(list: &str) -> CpuBits {
    let mut bits = [0; WORDS];
    for cpu in parse_cpu_list(list) {
        if let Some(word) = bits.get_mut(cpu / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    bits
}

/// Whether ranks outnumber the CPUs of a set, or a limit for all of them.
pub(crate) fn outnumber_cpus(ranks: u32, cpus: &CpuBits, limit: Option<u32>) -> bool {
    let count: u32 = cpus.iter().map(|word| word.count_ones()).sum();
    let known = (count > 0).then_some(count);
    let most = [known, limit].into_iter().flatten().min();
    most.is_some_and(|most| ranks > most)
}

#[cfg(test)]
mod tests {
    use super::{CoreCounts, Topology, cpu_bits, outnumber_cpus, parse_cpu_list};

    #[test]
    fn lists_are_read() {
        assert_eq!(parse_cpu_list("0-2,8\n"), [0, 1, 2, 8].into());
        assert!(parse_cpu_list("").is_empty() && parse_cpu_list("x").is_empty());
    }

    #[test]
    fn ranks_outnumber_the_cpus_of_all_of_them() {
        let check = |ranks: &[&str], limit, expected| {
            let mut all = cpu_bits("");
            for list in ranks {
                let union = all.iter_mut().zip(cpu_bits(list));
                union.for_each(|(word, own)| *word |= own);
            }
            let is_more = outnumber_cpus(ranks.len() as u32, &all, limit);
            assert_eq!(is_more, expected, "{ranks:?} {limit:?}");
        };
        // A launcher binds each rank to a core of its own.
        check(&["0", "1", "63", "64"], None, false);
        check(&["0,2", "1,3"], None, false);
        // Two CPUs of a container for four ranks.
        check(&["6-7", "6-7", "6-7", "6-7"], None, true);
        check(&["6-7", "6-7"], None, false);
        check(&["0", "0", "1"], None, true);
        check(&["0-7", "0-7", "0-7"], Some(2), true);
        // A CPU without a place in the set, and a kernel that names none.
        check(&["8191", "8192"], None, true);
        check(&["", ""], None, false);
        check(&["", ""], Some(1), true);
    }

    #[test]
    fn ranks_have_cores_of_their_own_or_share_them() {
        // Two cores of two threads each.
        let pairs = [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")];
        let topology = Topology::new(pairs.map(|(cpu, list)| (cpu, list.to_owned())));
        let check = |ranks: &[&str], threads, cores, bound, crowded| {
            let ranks: Vec<String> = ranks.iter().map(|list| (*list).to_owned()).collect();
            let expected = CoreCounts {
                threads,
                cores,
                bound,
                crowded,
            };
            assert_eq!(topology.count_cores(&ranks), expected, "{ranks:?}");
        };
        check(&["0", "1"], 2, 2, 2, 0);
        check(&["0,2", "1,3"], 4, 2, 2, 0);
        check(&["0", "2"], 2, 1, 2, 2);
        check(&["0-3", "0-3"], 4, 2, 0, 0);
        check(&["0", "2", "1"], 3, 2, 3, 2);
        check(&["0", "0-3"], 4, 2, 1, 0);
        check(&["9", "10"], 2, 2, 2, 0);
        check(&[], 0, 0, 0, 0);
    }
}
