//! The hosts of a launch.

use serde::{Deserialize, Serialize};

/// A host and how the launch's ranks stand on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub host: String,
    /// The kernel's `boot_id`: hosts with the same one are parts of one machine. Empty if unknown.
    pub boot: String,
    /// CPU model.
    pub cpu: String,
    /// Cores that its ranks may use between them.
    pub cores: u32,
    /// Hardware threads that its ranks may use between them.
    pub threads: u32,
    /// Cores that it has, as far as ranks might be allowed to use them.
    pub available: u32,
    /// Ranks that may not use all of `cores`; all ranks where there is but one core.
    pub bound: u32,
    /// Ranks bound to one core that another rank is bound to, too.
    pub crowded: u32,
    /// The network switches above it, the outermost first, as in `spine.leaf3`, where a batch system tells;
    /// else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub switches: String,
    /// The CPUs that each of its ranks may use, in rank order, as the kernel lists them: `0-3,8`.
    pub cpus: Vec<String>,
}

impl Node {
    /// Ranks on it.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.cpus.len()).unwrap_or(u32::MAX)
    }
}
