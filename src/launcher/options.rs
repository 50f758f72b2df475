//! What is to be launched with, and what launchers can be told.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use libraries::LibraryName;
use model::Placement;
use serde::Serialize;

use super::BatchSystem;

/// The MPI library that a campaign is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibraryChoice {
    /// The library; absent for whichever is found.
    pub name: Option<LibraryName>,
    /// The version that must be found; absent for any.
    pub version: Option<String>,
    /// Its mpirun or mpiexec; absent to look for it.
    pub launcher: Option<PathBuf>,
}

/// The local launcher's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalOptions {
    /// Further arguments of mpirun or mpiexec, before the program.
    pub options: Vec<String>,
    /// Whether more ranks than cores may run.
    pub oversubscribe: Oversubscribe,
    /// Environment variables of the launcher and the ranks.
    pub environment: BTreeMap<String, String>,
    /// Where the ranks go; absent for this machine.
    pub hosts: Option<Hosts>,
}

/// The nodes of a cluster, and how ranks are dealt to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The file that lists them, one a line, relative to the working directory.
    pub file: PathBuf,
    /// How ranks are dealt to nodes.
    pub placement: Placement,
}

/// Whether more ranks than cores may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Oversubscribe {
    /// If there are more ranks than cores.
    #[default]
    Auto,
    /// Such shapes are an error.
    Never,
    /// Launch as if there were too few cores: unbound.
    Always,
}

/// The options of a launcher that submits jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    /// The batch system.
    pub system: &'static dyn BatchSystem,
    /// What a job asks for.
    pub job: JobSpecification,
    /// Further arguments of mpirun or mpiexec, before the program.
    pub options: Vec<String>,
    /// Environment variables of the launcher and the ranks.
    pub environment: BTreeMap<String, String>,
    /// How ranks are dealt to nodes.
    pub placement: Placement,
    /// Whether all numbers of nodes are measured in the same allocations.
    pub allocation: Allocation,
    /// The time over which launches are spread; absent if each follows the last.
    pub spread: Option<Duration>,
}

impl BatchOptions {
    /// The options of a campaign that names only the batch system.
    pub fn of(system: &'static dyn BatchSystem) -> Self {
        Self {
            system,
            job: JobSpecification::default(),
            options: Vec::new(),
            environment: BTreeMap::new(),
            placement: Placement::default(),
            allocation: Allocation::default(),
            spread: None,
        }
    }
}

/// What a job asks a batch system for, beyond nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpecification {
    /// The account that is charged.
    pub account: Option<String>,
    /// The nodes among which the batch system chooses: [`crate::Words::partition`].
    pub partition: Option<String>,
    /// The quality of service.
    pub qos: Option<String>,
    /// Features that nodes must have.
    pub constraint: Option<String>,
    /// How long one job may run.
    pub wall_time: Duration,
    /// Whether no other job may use the nodes meanwhile.
    pub exclusive: bool,
    /// Environment modules to load, in this order.
    pub modules: Vec<String>,
    /// Further directives, as they stand behind [`crate::Words::mark`].
    pub directives: Vec<String>,
    /// The site's own template of the script, in place of ours.
    pub template: Option<Template>,
}

impl JobSpecification {
    /// How long one job may run if nothing else is said.
    pub const DEFAULT_WALL_TIME: Duration = Duration::from_secs(3600);
}

impl Default for JobSpecification {
    fn default() -> Self {
        Self {
            account: None,
            partition: None,
            qos: None,
            constraint: None,
            wall_time: Self::DEFAULT_WALL_TIME,
            exclusive: true,
            modules: Vec::new(),
            directives: Vec::new(),
            template: None,
        }
    }
}

/// What scripts are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Where it was read, relative to the working directory; absent if the campaign has it itself.
    pub file: Option<PathBuf>,
    /// The template.
    pub text: String,
}

/// Whether all numbers of nodes are measured in the same allocations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// All shapes are subsets of the largest one's nodes.
    #[default]
    Shared,
    /// Each number of nodes has jobs of its own, placed by the scheduler.
    Separate,
}
