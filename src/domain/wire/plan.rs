//! The plan of a launch: the measurements that the driver is to make.

use std::num::NonZero;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use vocabulary::bounds;
use vocabulary::{
    CacheState, Candidate, Cell, CommShape, Experiment, Library, Pattern, Purpose, Racing,
    Repetition, Synchronisation,
};

/// The plan of one launch of the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Plan {
    /// [`crate::WIRE_VERSION`] of the writer.
    pub version: u32,
    /// Digest of the campaign, repeated in the spool.
    pub campaign: String,
    /// Number of this launch within the store, from 1.
    pub launch: u32,
    /// The purpose of the launch, which does not affect the driver; `None` in plans of versions without confirming
    /// launches; those launches explored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// Seed of random choices, together with a task's round: the order of turns, and the noise of simulations.
    pub seed: u64,
    /// The MPI library that the driver must find.
    pub library: Library,
    /// File that the driver creates or appends to, one [`crate::Record`] per line.
    pub spool: PathBuf,
    /// Cores of a node that the ranks may use, if the commanding process knows of fewer than a rank can see, as under a
    /// CPU quota or with several hardware threads per core; `None` if ranks run on other hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// The variables in which batch systems give the switches above a node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<SwitchVariables>,
    /// For tests: consecutive ranks, this many at a time, count as being on one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pretended_ppn: Option<NonZero<u32>>,
    /// A file of this launch that the commanding process keeps locked (`flock`). The driver ends when the lock is gone,
    /// so that no rank outlives a killed command. `None` for detached jobs. Plans call it `leash`,
    /// as those of earlier versions do.
    #[serde(default, rename = "leash", skip_serializing_if = "Option::is_none")]
    pub parent_lock: Option<PathBuf>,
    /// The time after the launch's start from which no task is started.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounds::optional_span"
    )]
    pub deadline_seconds: Option<f64>,
    /// The time after which a candidate's turn counts as hung.
    #[serde(deserialize_with = "bounds::span")]
    pub watchdog_seconds: f64,
    /// The conditions under which a candidate is repeated no further.
    pub repetition: Repetition,
    /// The condition under which slow candidates leave early; `None` if none do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racing: Option<Racing>,
    /// The synchronisation of ranks before each repetition.
    #[serde(default)]
    pub synchronisation: Synchronisation,
    /// Whether calls may find their buffers in caches.
    #[serde(default, skip_serializing_if = "CacheState::is_warm")]
    pub cache: CacheState,
    /// The measurements, in this order.
    pub tasks: Vec<PlannedTask>,
}

/// The first version with the current names of algorithms.
const NAMES_VERSION: u32 = 7;

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

/// Unfinished launches of earlier versions have plans that later versions read.
impl<'de> Deserialize<'de> for Plan {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut plan = Self::deserialize(from)?;
        if plan.version < NAMES_VERSION {
            for task in &mut plan.tasks {
                if let PlannedWork::Compare { candidates, .. } = &mut task.work {
                    let old = std::mem::take(candidates).into_iter();
                    *candidates = old.map(Candidate::with_current_name).collect();
                }
            }
        }
        Ok(plan)
    }
}

/// Environment variables in which a batch system gives a process the switches above its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchVariables {
    /// The variable with the path to the node: the switches, the outermost first, then the node, separated by dots.
    pub path: String,
    /// The variable with the name of the node.
    pub node: String,
}

/// One unit of work; a task that is interrupted is lost as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedTask {
    /// Identifies the task in records; unique within the plan.
    pub id: u32,
    /// The number of launches that have measured part of this before. It seeds random choices, so that a launch that
    /// replaces an interrupted one makes the same choices.
    pub round: u32,
    /// The pattern of calls; experiments have their own and ignore it.
    #[serde(default, skip_serializing_if = "Pattern::is_together")]
    pub pattern: Pattern,
    /// The number of calls per repetition of calls that begin together, if launches that are compared with this one
    /// have a fixed number; otherwise the launch chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<NonZero<u32>>,
    /// The measurement.
    pub work: PlannedWork,
}

/// The measurement of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PlannedWork {
    /// Candidates compared in one cell.
    Compare {
        /// The cell.
        cell: Cell,
        /// The candidates; records refer to them by index.
        candidates: Vec<Candidate>,
    },
    /// An experiment on the machine; its records have candidate index 0.
    Experiment(Experiment),
}

impl PlannedWork {
    /// The nodes and ranks that it needs.
    pub fn shape(&self) -> CommShape {
        match self {
            Self::Compare { cell, .. } => cell.shape,
            Self::Experiment(experiment) => experiment.shape,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, Plan, PlannedTask, PlannedWork};

    #[test]
    fn older_plans_know_a_renamed_algorithm_by_its_old_name() {
        let plan = |version: u32| {
            let text = r#"{"version":VERSION,"campaign":"a","launch":1,"seed":1,
                "library":{"name":"openmpi","version":"4.1.4"},"spool":"s","watchdog_seconds":30.0,
                "repetition":{"minimum":1,"maximum":1,"precision":0.5,"confidence":0.95,
                    "slice_seconds":0.1},
                "tasks":[{"id":0,"round":0,"work":{"compare":{"cell":{"collective":"gather",
                    "shape":{"nodes":1,"ppn":2},"bytes":8,"datatype":"float64"},
                    "candidates":["default",{"ours":{"algorithm":"gather/binary_chunked"}}]}}}]}"#;
            let text = text.replace("VERSION", &version.to_string());
            let plan: Plan = serde_json::from_str(&text).expect("read");
            let again = serde_json::to_string(&plan).expect("written");
            assert!(again.contains(r#""task"#), "{again}");
            match &plan.tasks[0].work {
                PlannedWork::Compare { candidates, .. } => candidates[1].to_string(),
                PlannedWork::Experiment(_) => unreachable!(),
            }
        };
        assert_eq!(plan(6), "gather/binary_streamed");
        assert_eq!(plan(7), "gather/binary_chunked");
    }

    #[test]
    fn tasks_of_older_plans_are_of_calls_that_begin_together() {
        let old = r#"{"id":0,"round":1,"work":{"experiment":{"kind":"copy",
            "shape":{"nodes":1,"ppn":2},"bytes":8}}}"#;
        let old: PlannedTask = serde_json::from_str(old).expect("read");
        assert_eq!(old.pattern, Pattern::Together);
        let written = |task: &PlannedTask| serde_json::to_string(task).expect("written");
        assert!(!written(&old).contains("pattern"));
        let repeated = PlannedTask {
            pattern: Pattern::Repeated,
            ..old
        };
        assert!(written(&repeated).contains(r#""pattern":"repeated""#));
    }
}
