//! What the driver is asked to measure in one launch.

use std::num::NonZero;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use vocabulary::bounds;
use vocabulary::{
    CacheState, Candidate, Cell, Experiment, Library, Pattern, Purpose, Racing, Repetition,
    Synchronisation,
};

/// The orders for one launch of the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Plan {
    /// [`crate::WIRE_VERSION`] of the writer.
    pub version: u32,
    /// Digest of the campaign, repeated in the spool.
    pub campaign: String,
    /// Number of this launch within the store, from 1.
    pub launch: u32,
    /// What the launch is for, which makes no difference to the driver; absent in plans from before
    /// choices were confirmed, which explored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// Seed of what is left to chance, together with a task's round: the order of turns, and the
    /// noise of simulations.
    pub seed: u64,
    /// The MPI library that must be found at start.
    pub library: Library,
    /// File that the driver creates or appends to, one [`crate::Record`] a line.
    pub spool: PathBuf,
    /// Cores of a node that the ranks may use, where the commanding process knows of fewer than a
    /// rank can see, as under a CPU quota or with several hardware threads a core; absent where
    /// ranks run on other hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// The variables by which batch systems name the switches above a node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<SwitchVariables>,
    /// For tests: ranks are taken to stand on nodes of this many ranks each, in rank order, wherever they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pretended_ppn: Option<NonZero<u32>>,
    /// A file of this launch that the commanding process keeps locked (`flock`); the driver ends
    /// when the lock is gone, so that no rank outlives a killed command. Absent for detached jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leash: Option<PathBuf>,
    /// No task is started later than this after the launch's start.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounds::optional_span"
    )]
    pub deadline_seconds: Option<f64>,
    /// How long one candidate's turn may last before it counts as hung.
    #[serde(deserialize_with = "bounds::span")]
    pub watchdog_seconds: f64,
    /// When a candidate has been repeated often enough.
    pub repetition: Repetition,
    /// When a slow candidate is not repeated any further; absent where all are measured to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racing: Option<Racing>,
    /// How ranks are brought to a common start before each repetition.
    #[serde(default)]
    pub synchronisation: Synchronisation,
    /// Whether calls may find their buffers in caches.
    #[serde(default, skip_serializing_if = "CacheState::is_warm")]
    pub cache: CacheState,
    /// What to measure, in this order.
    pub tasks: Vec<PlannedTask>,
}

/// The first version with the names that algorithms have now.
const NAMES_VERSION: u32 = 7;

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

/// What a launch of an earlier version left is taken in by later ones.
impl<'de> Deserialize<'de> for Plan {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut plan = Self::deserialize(from)?;
        if plan.version < NAMES_VERSION {
            for task in &mut plan.tasks {
                if let PlannedWork::Compare { candidates, .. } = &mut task.work {
                    let old = std::mem::take(candidates).into_iter();
                    *candidates = old.map(Candidate::renamed).collect();
                }
            }
        }
        Ok(plan)
    }
}

/// Environment variables by which a batch system tells a process which switches are above its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchVariables {
    /// The one with the path to the node: switches, the outermost first, then the node, with dots between.
    pub path: String,
    /// The one with the name of the node.
    pub node: String,
}

/// One unit of work; what is in flight when a launch ends early is lost whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedTask {
    /// Identifies the task in records; unique within the plan.
    pub id: u32,
    /// How many launches have measured some of this before: what chance is drawn from, so that a
    /// launch that makes up for an interrupted one has the same luck.
    pub round: u32,
    /// How calls follow each other; experiments have patterns of their own and do not look at it.
    #[serde(default, skip_serializing_if = "Pattern::is_together")]
    pub pattern: Pattern,
    /// The calls of a repetition of calls that begin together, where launches that are compared with this one
    /// had so many; otherwise the launch chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<NonZero<u32>>,
    /// What is measured.
    pub work: PlannedWork,
}

/// What a task measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PlannedWork {
    /// Candidates compared in one cell.
    Compare {
        /// Where.
        cell: Cell,
        /// What; records name a candidate by its index here.
        candidates: Vec<Candidate>,
    },
    /// An experiment that shows the machine's parameters; its records carry candidate index 0.
    Experiment(Experiment),
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
