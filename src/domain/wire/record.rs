//! The records of the driver, one JSON object per line.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use strum_macros::IntoStaticStr;

use vocabulary::bounds;
use vocabulary::units::format_bytes;
use vocabulary::{
    Candidate, Elimination, Library, NativeAlgorithm, Node, RankOrder, ServingComponent, Subject,
    Warning, World,
};

/// A line of the spool file. Records of one launch are in order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "one record is in memory at a time"
)]
pub enum Record {
    /// The launch has started; always first.
    Started(LaunchStart),
    /// A candidate's turn begins. If no record follows, the launch died in this turn.
    Trying {
        /// Task id.
        task: u32,
        /// Index into the task's candidates.
        candidate: u32,
    },
    /// A candidate failed in a task and was left out of it.
    Failed {
        /// Task id.
        task: u32,
        /// Index into the task's candidates.
        candidate: u32,
        /// The kind of failure.
        kind: FailureKind,
        /// A description of the failure.
        message: String,
    },
    /// A task is complete, with all its measurements, so that a task is stored completely or not at all.
    Done(TaskDone),
    /// The launch ended normally; always last.
    Finished {
        /// The reason.
        reason: Finish,
    },
}

/// The place and time of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchStart {
    /// [`crate::Plan::campaign`].
    pub campaign: String,
    /// [`crate::Plan::launch`].
    pub launch: u32,
    /// Seconds since the Unix epoch, on rank 0's host.
    pub unix_seconds: u64,
    /// The environment of the launch.
    pub environment: Environment,
}

/// The properties of the machine and the library that affect measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The library found, by name and version.
    pub library: Option<Library>,
    /// The first line of `MPI_Get_library_version`.
    pub library_text: String,
    /// Version of colltune.
    pub colltune: String,
    /// Distinct host names, in rank order.
    pub hosts: Vec<String>,
    /// The same hosts, with the placement of ranks on their cores.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// Ranks in the launch.
    pub ranks: u32,
    /// Cores that rank 0's node offers to all its ranks.
    pub cores: u32,
    /// CPU model of rank 0's host.
    pub cpu: String,
    /// Kernel of rank 0's host.
    pub kernel: String,
    /// Frequency governor of rank 0's host; empty if unknown.
    pub governor: String,
    /// Runnable tasks besides the ranks on rank 0's host at start.
    pub load: f64,
    /// Resolution of the timer: the smallest observed step.
    pub timer_resolution_seconds: f64,
    /// Cost of reading the timer.
    pub timer_overhead_seconds: f64,
    /// Environment variables that configure MPI libraries, on rank 0.
    pub variables: BTreeMap<String, String>,
    /// Control variables of the library that configure collectives or transports and differ from their built-in values,
    /// as rank 0 finds them at start: set by environment variables, configuration files or the launcher's arguments.
    /// `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<BTreeMap<String, String>>,
    /// The launcher's command line; empty if unknown.
    #[serde(default)]
    pub launcher: String,
    /// The library's transports, if it reports them: `pml/ob1` and `btl/tcp` of Open MPI, `ch4:ofi` of MPICH.
    #[serde(default)]
    pub transports: Vec<String>,
    /// Algorithms that environment variables or configuration files force, by full name.
    #[serde(default)]
    pub preset: Vec<String>,
    /// Rules that a site has deployed and this launch ignores, each as `NAME=value is set in PLACE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    /// The algorithms that the library can be forced to use.
    #[serde(default)]
    pub natives: Vec<NativeAlgorithm>,
    /// The components of the library that carry out collectives by default, as far as their priorities determine them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ServingComponent>,
    /// Whether the ranks of a node have memory in common; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<bool>,
    /// Each rank's estimate of the global clock, which is rank 0's, by rank; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<RankClock>,
    /// The caches that were cold for each call's buffers; `None` with [`vocabulary::CacheState::Warm`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<ColdCaches>,
    /// Reasons to trust the measurements less.
    pub warnings: Vec<Warning>,
}

impl Environment {
    /// The ranks that were started.
    pub fn world(&self) -> World {
        World {
            ranks: self.ranks,
            on_nodes: self.nodes.iter().map(Node::ranks).collect(),
        }
    }
}

/// The global clock relative to one rank's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankClock {
    /// The global time minus this rank's, at the start of the launch.
    pub offset_seconds: f64,
    /// Seconds that the global clock gains on this rank's per second.
    pub drift: f64,
    /// The largest error of the offset.
    pub error_seconds: f64,
}

/// The caches that the copies of a call's buffers exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColdCaches {
    /// Total size of all last-level caches of a node in bytes, the maximum over nodes.
    pub last_level_bytes: u64,
    /// Whether no node reported it, so that the number is an assumption.
    pub is_assumed: bool,
}

impl fmt::Display for ColdCaches {
    /// Displays it as a clause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cold cache: calls use several copies of their buffers in turn, together more than twice as \
             large as a node's last-level caches, {} bytes{}",
            format_bytes(self.last_level_bytes),
            if self.is_assumed { " as a guess" } else { "" }
        )
    }
}

/// The way in which a candidate failed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FailureKind {
    /// MPI returned an error code.
    MpiError,
    /// The result is wrong.
    WrongResult,
    /// The watchdog expired.
    Hang,
    /// The candidate is correct, but one call exceeds the cell's time.
    TooSlow,
    /// The launch died during its turn.
    Crash,
    /// The candidate cannot run at this shape or is unknown to the driver.
    Unsupported,
}

impl FailureKind {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A candidate's failure, after which it is not tried again in that cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureRecord {
    /// Number of the launch.
    pub launch: u32,
    /// The subject.
    pub subject: Subject,
    /// The candidate.
    pub candidate: Candidate,
    /// The kind of failure.
    pub kind: FailureKind,
    /// A description of the failure.
    pub message: String,
}

/// The results of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskDone {
    /// Task id.
    pub task: u32,
    /// The order of the participating ranks on their nodes.
    #[serde(default, skip_serializing_if = "RankOrder::is_unknown")]
    pub order: RankOrder,
    /// Wall-clock time of the task, warm-up and synchronisation included.
    #[serde(deserialize_with = "bounds::span")]
    pub elapsed_seconds: f64,
    /// The parts of this time; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<TimeBreakdown>,
    /// One entry per measured candidate.
    pub measurements: Vec<Measurement>,
}

/// Three parts of a task's time; the rest of its elapsed time is colltune's bookkeeping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeBreakdown {
    /// The time before the first recorded repetition: buffers, first calls with their checks, warm-up.
    pub preparing_seconds: f64,
    /// The time for synchronisation from then on, on rank 0: barriers, or waiting for agreed times and reading clocks;
    /// and calls that bring ranks into a steady state before others are timed.
    pub starting_seconds: f64,
    /// The time in calls from then on, each until the slowest rank has finished.
    pub calling_seconds: f64,
}

impl TimeBreakdown {
    /// The parts as shares of the elapsed time. With windows, a late call may overlap the next one, so that the parts
    /// exceed the elapsed time; then the shares are those of their sum.
    pub fn shares_of_elapsed(&self, elapsed_seconds: f64) -> Shares {
        let parts = self.preparing_seconds + self.starting_seconds + self.calling_seconds;
        let whole = elapsed_seconds.max(parts);
        Shares {
            calls: self.calling_seconds / whole,
            starts: self.starting_seconds / whole,
            preparing: self.preparing_seconds / whole,
            own: (whole - parts) / whole,
        }
    }
}

/// The parts of measuring time, as shares of one.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// Calls with recorded times.
    pub calls: f64,
    /// Synchronising ranks before them.
    pub starts: f64,
    /// Checking results and warm-up.
    pub preparing: f64,
    /// Colltune's bookkeeping: the rest.
    pub own: f64,
}

impl fmt::Display for Shares {
    /// Displays it as a clause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} % in calls, {:.1} % synchronising ranks, {:.1} % checking and warming up, \
             {:.1} % our own bookkeeping",
            100.0 * self.calls,
            100.0 * self.starts,
            100.0 * self.preparing,
            100.0 * self.own
        )
    }
}

/// The repetitions of one candidate in one task of one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Index into the task's candidates.
    pub candidate: u32,
    /// Calls made and discarded before the first repetition.
    pub warmup: u32,
    /// Calls that are timed in a repetition; its time is divided by this.
    pub batch: u32,
    /// Seconds per call, one entry per repetition, in the order they were taken: the time by the task's pattern
    /// ([`vocabulary::Pattern`]), divided by `batch`.
    #[serde(deserialize_with = "bounds::times")]
    pub seconds: Vec<f64>,
    /// The indices of the invalid ones, ascending: a rank was late for the common
    /// start, or had not finished when the next one was due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<u32>,
    /// The largest observed disagreement of the ranks' clocks; `None` without a global clock.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounds::optional_span"
    )]
    pub residual_seconds: Option<f64>,
    /// Set if it left early, because another candidate was significantly faster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Elimination>,
}

/// The reason for the normal end of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// All tasks were completed.
    Complete,
    /// The deadline passed.
    Deadline,
}

#[cfg(test)]
mod tests {
    use super::{Environment, LaunchStart, Shares, TimeBreakdown};

    #[test]
    fn shares_of_parts_that_overlap_add_up_to_one() {
        let spent = TimeBreakdown {
            preparing_seconds: 1.0,
            starting_seconds: 2.0,
            calling_seconds: 5.0,
        };
        let shares = |calls, starts, preparing, own| Shares {
            calls,
            starts,
            preparing,
            own,
        };
        assert_eq!(
            spent.shares_of_elapsed(16.0),
            shares(0.3125, 0.125, 0.0625, 0.5)
        );
        assert_eq!(
            spent.shares_of_elapsed(7.0),
            shares(0.625, 0.25, 0.125, 0.0)
        );
    }

    #[test]
    fn environments_of_older_stores_are_read() {
        let text = r#"{"campaign": "c", "launch": 1, "unix_seconds": 2, "environment": {
            "library": {"name": "openmpi", "version": "4.1.4"}, "library_text": "Open MPI v4.1.4",
            "colltune": "0.1.0", "hosts": ["a"], "ranks": 2, "cores": 2, "cpu": "x", "kernel": "6",
            "governor": "", "load": 0.0, "timer_resolution_seconds": 1e-9,
            "timer_overhead_seconds": 1e-8, "variables": {}, "warnings": [{"warning": "unbound"}]}}"#;
        let start: LaunchStart = serde_json::from_str(text).expect("read");
        let Environment {
            nodes,
            launcher,
            transports,
            preset,
            ..
        } = start.environment;
        assert!(nodes.is_empty() && launcher.is_empty());
        assert!(transports.is_empty() && preset.is_empty());
    }
}
