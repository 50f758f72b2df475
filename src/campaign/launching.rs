//! What a campaign is measured with.

use std::path::PathBuf;

use launcher::{BatchOptions, LocalOptions};
use model::Placement;

/// What measures: MPI programs, or the simulator in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a campaign has one, which is not moved about"
)]
pub enum LauncherConfig {
    /// Ranks on this machine, or on hosts that its launcher reaches.
    Local(LocalOptions),
    /// Ranks on nodes that a batch system gives to jobs.
    Batch(BatchOptions),
    /// A simulated machine, without MPI.
    Simulated(SimulatedOptions),
}

impl Default for LauncherConfig {
    fn default() -> Self {
        Self::Local(LocalOptions::default())
    }
}

/// What is simulated instead of measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedOptions {
    /// The machine file, relative to the working directory; absent for the reference machine.
    pub machine: Option<PathBuf>,
    /// How ranks are dealt to nodes.
    pub placement: Placement,
    /// What the noise is drawn from: the same seed gives the same noise.
    pub seed: u32,
}
