//! The hosts of a launch.

use serde::{Deserialize, Serialize};

/// A host, and the placement of the launch's ranks on its cores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub host: String,
    /// The kernel's `boot_id`: hosts with equal ones are parts of one machine. Empty if unknown.
    pub boot: String,
    /// CPU model.
    pub cpu: String,
    /// Cores that its ranks may use, over all ranks.
    pub cores: u32,
    /// Hardware threads that its ranks may use, over all ranks.
    pub threads: u32,
    /// All cores of the host that ranks could be allowed to use.
    pub available: u32,
    /// Ranks that may not use all of `cores`; all ranks if there is only one core.
    pub bound: u32,
    /// Ranks bound to a single core to which another rank is also bound.
    pub crowded: u32,
    /// The network switches above it, the outermost first, as in `spine.leaf3`, if a batch system reports them;
    /// otherwise empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub switches: String,
    /// The networks that connect it with other nodes (`environment::find_networks`); empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<String>,
    /// The CPUs that each of its ranks may use, in rank order, in the kernel's notation: `0-3,8`.
    pub cpus: Vec<String>,
}

impl Node {
    /// The number of ranks on it.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.cpus.len()).unwrap_or(u32::MAX)
    }
}
