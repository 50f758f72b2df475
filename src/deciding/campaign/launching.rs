//! The launcher of a campaign.

use std::path::PathBuf;

use launcher::{BatchOptions, LocalOptions};
use vocabulary::Placement;

/// The launcher of a campaign: it starts MPI programs or simulates them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a campaign has one, which is rarely moved"
)]
pub enum LauncherConfig {
    /// Ranks on this machine, or on hosts that the MPI launcher reaches.
    Local(LocalOptions),
    /// Ranks on nodes that a batch system allocates to jobs.
    Batch(BatchOptions),
    /// A simulated machine, without MPI.
    Simulated(SimulatedOptions),
}

impl Default for LauncherConfig {
    fn default() -> Self {
        Self::Local(LocalOptions::default())
    }
}

/// The options of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedOptions {
    /// The machine file, relative to the working directory; `None` for the reference machine.
    pub machine: Option<PathBuf>,
    /// The placement of ranks on nodes.
    pub placement: Placement,
    /// The seed of the noise: the same seed gives the same noise.
    pub seed: u32,
}
