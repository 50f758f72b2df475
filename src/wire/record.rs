//! What the driver reports back, one JSON object a line.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use vocabulary::bounds;
use vocabulary::units::format_bytes;
use vocabulary::{
    Candidate, Elimination, Library, NativeAlgorithm, Node, RankOrder, Subject, Warning,
};

/// A line of the spool file. Records of one launch follow each other in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "one record is in memory at a time"
)]
pub enum Record {
    /// The launch is up; always first.
    Started(LaunchStart),
    /// A candidate's turn begins. If nothing follows, this is what was in flight when the launch
    /// died.
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
        /// What was seen.
        message: String,
    },
    /// A task is complete: all its measurements at once, so that a task is stored whole or not.
    Done(TaskDone),
    /// The launch ended in order; always last.
    Finished {
        /// Why.
        reason: Finish,
    },
}

/// Where and when a launch ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchStart {
    /// [`crate::Plan::campaign`].
    pub campaign: String,
    /// [`crate::Plan::launch`].
    pub launch: u32,
    /// Seconds since the Unix epoch, on rank 0's host.
    pub unix_seconds: u64,
    /// What the launch ran on.
    pub environment: Environment,
}

/// What a measurement depends on beside what is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The library found, by name and version.
    pub library: Option<Library>,
    /// The first line of `MPI_Get_library_version`.
    pub library_text: String,
    /// Version of colltune.
    pub colltune: String,
    /// Host names, in rank order, each once.
    pub hosts: Vec<String>,
    /// The same hosts, and how ranks stand on them.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// Ranks in the launch.
    pub ranks: u32,
    /// Cores that rank 0 may use, all its node's ranks taken together.
    pub cores: u32,
    /// CPU model of rank 0's host.
    pub cpu: String,
    /// Kernel of rank 0's host.
    pub kernel: String,
    /// Frequency governor of rank 0's host; empty if unknown.
    pub governor: String,
    /// Runnable tasks beside our own on rank 0's host at start.
    pub load: f64,
    /// Resolution of the timer: smallest step seen.
    pub timer_resolution_seconds: f64,
    /// Cost of reading the timer.
    pub timer_overhead_seconds: f64,
    /// Environment variables that steer MPI libraries, on rank 0.
    pub variables: BTreeMap<String, String>,
    /// Control variables of the library that steer collectives or what they communicate with and have
    /// other values than those that it was built with, as rank 0 would find them at start: by
    /// environment variables, files of settings or the launcher's arguments. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<BTreeMap<String, String>>,
    /// The launcher's command line; empty if unknown.
    #[serde(default)]
    pub launcher: String,
    /// What the library communicates with, as far as it tells: `pml/ob1` and `btl/tcp` of Open MPI,
    /// `ch4:ofi` of MPICH.
    #[serde(default)]
    pub transports: Vec<String>,
    /// Algorithms that are forced by environment variables or settings files, by full name.
    #[serde(default)]
    pub preset: Vec<String>,
    /// What a site has deployed and this launch set aside, each as `NAME=value is set in PLACE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    /// What the library lets one force.
    #[serde(default)]
    pub natives: Vec<NativeAlgorithm>,
    /// What each rank has learned of the global clock, which is rank 0's, by rank; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<RankClock>,
    /// The caches in which calls found nothing of their buffers; absent where they might, with
    /// [`vocabulary::CacheState::Warm`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<ColdCaches>,
    /// What makes the numbers less trustworthy.
    pub warnings: Vec<Warning>,
}

/// The global clock as seen by one rank's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankClock {
    /// The global time less this rank's, when the launch started.
    pub offset_seconds: f64,
    /// Seconds by which the global clock gains on this rank's, per second.
    pub drift: f64,
    /// The largest error of the offset.
    pub error_seconds: f64,
}

/// The caches that the copies of a call's buffers exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColdCaches {
    /// All last-level caches of a node, taken together, in bytes: the most that a node has.
    pub last_level_bytes: u64,
    /// Whether no node told, so that the number is a guess.
    pub is_assumed: bool,
}

impl fmt::Display for ColdCaches {
    /// Displays it as a clause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cold cache: each call works on the next of copies of its buffers that are together \
             more than twice as large as a node's last-level caches, {} bytes{}",
            format_bytes(self.last_level_bytes),
            if self.is_assumed { " as a guess" } else { "" }
        )
    }
}

/// How a candidate failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// MPI returned an error code.
    MpiError,
    /// The result is not what the collective must give.
    WrongResult,
    /// The watchdog ran out.
    Hang,
    /// The candidate ends, but one call takes longer than the cell can afford.
    TooSlow,
    /// The launch died during its turn.
    Crash,
    /// The candidate cannot run at this shape or is unknown to the driver.
    Unsupported,
}

impl FailureKind {
    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MpiError => "mpi_error",
            Self::WrongResult => "wrong_result",
            Self::Hang => "hang",
            Self::TooSlow => "too_slow",
            Self::Crash => "crash",
            Self::Unsupported => "unsupported",
        }
    }
}

/// A candidate that failed, and is not to be tried again in that cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureRecord {
    /// Number of the launch.
    pub launch: u32,
    /// Where.
    pub subject: Subject,
    /// Which.
    pub candidate: Candidate,
    /// The kind of failure.
    pub kind: FailureKind,
    /// What was seen.
    pub message: String,
}

/// Everything that one task gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskDone {
    /// Task id.
    pub task: u32,
    /// The order in which the ranks that took part stand on their nodes.
    #[serde(default, skip_serializing_if = "RankOrder::is_unknown")]
    pub order: RankOrder,
    /// Wall-clock time of the task, warm-up and synchronisation included.
    #[serde(deserialize_with = "bounds::span")]
    pub elapsed_seconds: f64,
    /// Where that went; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<TimeBreakdown>,
    /// One entry a candidate that was measured.
    pub measurements: Vec<Measurement>,
}

/// Where the time of a task went: three parts; the rest of its elapsed time is bookkeeping of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeBreakdown {
    /// Before the first repetition that is kept: buffers, first calls with their checks, warming up.
    pub preparing_seconds: f64,
    /// Coming to common starts from then on: barriers, or waiting for times that were agreed upon and
    /// looking at clocks; and calls that bring ranks into a steady state before others are timed.
    pub starting_seconds: f64,
    /// Within the calls from then on, each until the slowest rank has done it.
    pub calling_seconds: f64,
}

impl TimeBreakdown {
    /// The parts as shares of the time that all of it took.
    pub fn shares(&self, elapsed_seconds: f64) -> Shares {
        let share = |seconds: f64| seconds / elapsed_seconds;
        let (calls, starts) = (share(self.calling_seconds), share(self.starting_seconds));
        let preparing = share(self.preparing_seconds);
        Shares {
            calls,
            starts,
            preparing,
            own: (1.0 - calls - starts - preparing).max(0.0),
        }
    }
}

/// Where measuring time went, as shares of one.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// Within calls whose times are kept.
    pub calls: f64,
    /// Coming to common starts before them.
    pub starts: f64,
    /// Checking results and warming up.
    pub preparing: f64,
    /// Bookkeeping of ours: what is left.
    pub own: f64,
}

impl fmt::Display for Shares {
    /// Displays it as a clause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} % in calls, {:.1} % coming to common starts, {:.1} % checking and warming up, \
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
    /// Calls made and thrown away before the first repetition.
    pub warmup: u32,
    /// Calls that are timed in a repetition; its time is divided by this.
    pub batch: u32,
    /// Seconds a call, one entry a repetition, in the order they were taken: what the task's pattern
    /// ([`vocabulary::Pattern`]) calls their time, divided by `batch`.
    #[serde(deserialize_with = "bounds::times")]
    pub seconds: Vec<f64>,
    /// Which of these are not to be used, by place, ascending: a rank was late for the common
    /// start, or not done when the next one was due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<u32>,
    /// The largest disagreement of the ranks' clocks, as far as could be seen; absent without a
    /// global clock.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounds::optional_span"
    )]
    pub residual_seconds: Option<f64>,
    /// Set if it was not measured to the end, because another was faster for certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Elimination>,
}

/// Why a launch ended in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// All tasks were carried out.
    Complete,
    /// The deadline passed.
    Deadline,
}

#[cfg(test)]
mod tests {
    use super::{Environment, LaunchStart};

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
