//! The options of launchers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use libraries::LibraryName;
use serde::Serialize;

use super::BatchSystem;
use vocabulary::{Library, Placement};

/// The MPI library that a campaign is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibraryChoice {
    /// The library; `None` for any, or for one that colltune does not know.
    pub name: Option<LibraryName>,
    /// The name of a library that colltune does not know. Its version and its launcher must be given, and the launcher
    /// takes the options of that of a known library, from which this one derives.
    pub unknown_name: Option<String>,
    /// The required version; `None` for any.
    pub version: Option<String>,
    /// Its mpirun or mpiexec; `None` to search for it.
    pub launcher: Option<PathBuf>,
}

impl LibraryChoice {
    /// The library that colltune does not know, if this is one.
    pub fn unknown_library(&self) -> Option<Library> {
        Some(Library {
            name: self.unknown_name.clone()?,
            version: self.version.clone()?,
        })
    }
}

/// The local launcher's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalOptions {
    /// Further arguments of mpirun or mpiexec, before the program.
    pub options: Vec<String>,
    /// Whether a node may have more ranks than cores.
    pub oversubscribe: Oversubscribe,
    /// Environment variables of the launcher and the ranks.
    pub environment: BTreeMap<String, String>,
    /// The nodes of the ranks; `None` for this machine.
    pub hosts: Option<Hosts>,
}

/// The nodes of a cluster, and the placement of ranks on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The file that lists them, one per line, relative to the working directory.
    pub file: PathBuf,
    /// The placement of ranks on nodes.
    pub placement: Placement,
}

/// Whether a node may have more ranks than cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Oversubscribe {
    /// Ranks are unbound if there are more of them than cores.
    #[default]
    Auto,
    /// Shapes with more ranks than cores are an error.
    Never,
    /// Ranks are always unbound.
    Always,
}

/// The options of a launcher that submits jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    /// The batch system.
    pub system: &'static dyn BatchSystem,
    /// The specification of jobs.
    pub job: JobSpecification,
    /// Further arguments of mpirun or mpiexec, before the program.
    pub options: Vec<String>,
    /// Environment variables of the launcher and the ranks.
    pub environment: BTreeMap<String, String>,
    /// The placement of ranks on nodes.
    pub placement: Placement,
    /// Whether all numbers of nodes are measured in the same allocations.
    pub allocation: Allocation,
    /// The time over which launches are distributed; `None` if they follow each other at once.
    pub spread: Option<Duration>,
}

impl BatchOptions {
    /// The options of a campaign that names only the batch system.
    pub fn for_system(system: &'static dyn BatchSystem) -> Self {
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

/// The properties of a job, besides its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpecification {
    /// The account that is charged.
    pub account: Option<String>,
    /// The group of nodes from which the batch system chooses: [`crate::Words::partition`].
    pub partition: Option<String>,
    /// The quality of service.
    pub qos: Option<String>,
    /// Features that nodes must have.
    pub constraint: Option<String>,
    /// The time limit of a job.
    pub wall_time: Duration,
    /// Whether the job has its nodes to itself.
    pub exclusive: bool,
    /// Environment modules to load, in this order.
    pub modules: Vec<String>,
    /// Further directives, without [`crate::Words::mark`].
    pub directives: Vec<String>,
    /// The site's own template of the script, which replaces the built-in one.
    pub template: Option<Template>,
}

impl JobSpecification {
    /// The default time limit of a job.
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

/// A template of scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its file, relative to the working directory; `None` if the campaign contains the template.
    pub file: Option<PathBuf>,
    /// The template.
    pub text: String,
}

/// Whether all numbers of nodes are measured in the same allocations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// All shapes use nodes of the largest shape's allocation.
    #[default]
    Shared,
    /// Each number of nodes has its own jobs, placed by the scheduler.
    Separate,
}
