//! What the driver reports back, one JSON object a line.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Library, NativeAlgorithm, Node};

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
        /// In which way.
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
    /// The launcher's command line; empty if unknown.
    #[serde(default)]
    pub launcher: String,
    /// What the library communicates with, as far as it tells: `pml/ob1` and `btl/tcp` of Open MPI,
    /// `ch4:ofi` of MPICH.
    #[serde(default)]
    pub transports: Vec<String>,
    /// Algorithms that somebody has forced by environment variables or settings files, by full name.
    #[serde(default)]
    pub preset: Vec<String>,
    /// What the library lets one force.
    #[serde(default)]
    pub natives: Vec<NativeAlgorithm>,
    /// What each rank has learned of the global clock, which is rank 0's, by rank; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<RankClock>,
    /// What makes the numbers less trustworthy.
    pub warnings: Vec<Warning>,
}

/// The global clock as seen by one rank's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankClock {
    /// The global time less this rank's, when the launch started.
    pub offset_seconds: f64,
    /// By how many seconds a second the global clock is faster than this rank's.
    pub drift: f64,
    /// By how much the offset may be wrong.
    pub error_seconds: f64,
}

/// A reason to trust a measurement less.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "warning")]
pub enum Warning {
    /// Nothing was measured.
    Simulated {
        /// The machine's name.
        machine: String,
    },
    /// More ranks than cores on a node.
    Oversubscribed {
        /// Ranks on the node.
        ranks: u32,
        /// Its cores.
        cores: u32,
    },
    /// Agreed starts, with more ranks than cores on a node.
    CrowdedWindows,
    /// Other work was running at start.
    BusyMachine {
        /// Runnable tasks beside our own, times 100.
        load_percent: u32,
        /// Cores of the node.
        cores: u32,
    },
    /// Ranks are free to move between cores.
    Unbound,
    /// Ranks are bound to cores that other ranks are bound to, though there are enough for all.
    CrowdedCores {
        /// Ranks that share a core with another.
        ranks: u32,
        /// Where.
        host: String,
    },
    /// Several nodes are one machine.
    SharedMachine {
        /// So many.
        nodes: u32,
        /// Ranks on them.
        ranks: u32,
        /// The machine's cores.
        cores: u32,
    },
    /// Nodes differ in their CPUs.
    UnlikeNodes {
        /// An example of each kind: its host, its cores, its CPU.
        kinds: Vec<String>,
    },
    /// Somebody has changed the library's own choice of algorithms.
    SteeredDefault {
        /// By which settings, as `NAME=value`, or which algorithms are forced.
        settings: Vec<String>,
    },
    /// The frequency governor may change the clock.
    Governor {
        /// Its name.
        name: String,
    },
    /// The timer's step is coarse.
    CoarseTimer {
        /// The step in nanoseconds.
        resolution_nanoseconds: u64,
    },
    /// The times are somebody else's.
    Imported {
        /// The file that they were read from.
        file: String,
    },
    /// The times are averages over ranks and not those of the slowest rank.
    AverageOverRanks,
    /// The root changed from call to call.
    RotatingRoot,
    /// Another candidate stands for the library's default, which was not measured.
    Baseline {
        /// Its full name.
        candidate: String,
    },
}

impl fmt::Display for Warning {
    /// A full sentence that says what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated { machine } => write!(
                f,
                "these are times of the simulated machine `{machine}`, and nothing was measured: do \
                 not deploy the table; measure with `launcher: local` on the machine that is meant"
            ),
            Self::Oversubscribed { ranks, cores } => write!(
                f,
                "{ranks} ranks shared {cores} cores: times are dominated by the scheduler and say \
                 little about a real machine; use at most {cores} ranks per node"
            ),
            Self::CrowdedWindows => f.write_str(
                "ranks that share cores cannot start together at an agreed time: use \
                 `synchronisation: barrier`, or fewer ranks per node",
            ),
            Self::BusyMachine {
                load_percent,
                cores,
            } => write!(
                f,
                "the machine was busy ({}.{:02} other tasks running on {cores} cores): stop \
                 other work and measure again",
                load_percent / 100,
                load_percent % 100
            ),
            Self::Unbound => write!(
                f,
                "ranks were not bound to cores and may migrate: bind them (for Open MPI \
                 `--bind-to core`, for MPICH `-bind-to core`)"
            ),
            Self::CrowdedCores { host, ranks } => write!(
                f,
                "{ranks} ranks on {host} were bound to cores that other ranks were bound to, too, while \
                 others were free: give each a core of its own (no second job there; for Open MPI \
                 `--map-by core`, for MPICH `-map-by core`)"
            ),
            Self::SharedMachine {
                nodes,
                ranks,
                cores,
            } => write!(
                f,
                "{nodes} nodes are one machine, whose {cores} cores {ranks} ranks shared: what goes \
                 between them crosses no network; deploy the table on nothing but such nodes, and \
                 measure others on hosts of their own"
            ),
            Self::UnlikeNodes { kinds } => write!(
                f,
                "the nodes differ ({}), and the slowest decides every time: measure on nodes of one \
                 kind, with a host file that names no others",
                kinds.join("; ")
            ),
            Self::SteeredDefault { settings } => write!(
                f,
                "`default` is not what the library chooses by itself, but what somebody has set ({}): \
                 take that back, unless all jobs run with it",
                settings.join(", ")
            ),
            Self::Governor { name } => write!(
                f,
                "the CPU frequency governor is `{name}`: set it to `performance` for steady times"
            ),
            Self::CoarseTimer {
                resolution_nanoseconds,
            } => write!(
                f,
                "the timer advances in steps of {resolution_nanoseconds} ns: times near that are \
                 rounded; use a kernel clock source such as tsc"
            ),
            Self::Imported { file } => write!(
                f,
                "times were imported from {file}, and colltune does not know how they were \
                 measured: measure again where the table is to be used before relying on it"
            ),
            Self::AverageOverRanks => f.write_str(
                "some imported times are averages over ranks and not those of the slowest rank, \
                 which favours what leaves a few ranks waiting: run the OSU benchmarks with `-f` \
                 and import their output again into a new store",
            ),
            Self::RotatingRoot => f.write_str(
                "the Intel MPI Benchmarks may have changed the root from call to call, so that \
                 successive calls overlap and rooted collectives seem faster than they are: use a \
                 release from 2018 on with `-root_shift off`",
            ),
            Self::Baseline { candidate } => write!(
                f,
                "the library's default was not measured: `default` stands for {candidate}; \
                 measure the default too if the table is to be deployed"
            ),
        }
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
    /// It ends, but one call takes longer than the cell can afford.
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

/// Everything that one task gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskDone {
    /// Task id.
    pub task: u32,
    /// Wall-clock time of the task, warm-up and synchronisation included.
    pub elapsed_seconds: f64,
    /// One entry a candidate that was measured.
    pub measurements: Vec<Measurement>,
}

/// The repetitions of one candidate in one task of one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Index into the task's candidates.
    pub candidate: u32,
    /// Calls made and thrown away before the first repetition.
    pub warmup: u32,
    /// Calls in a repetition; its time is divided by this.
    pub batch: u32,
    /// Seconds a call, one entry a repetition, in the order they were taken: from the common start
    /// to the end on the slowest rank, divided by `batch`.
    pub seconds: Vec<f64>,
    /// Which of these are not to be used, by place, ascending: a rank was late for the common
    /// start, or not done when the next one was due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<u32>,
    /// By how much the ranks' clocks disagreed at most, as far as could be seen; absent without a
    /// global clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual_seconds: Option<f64>,
    /// Set if it was not measured to the end, because another was faster for certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Left>,
}

/// How a candidate left the race of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// The round of turns after which it left, from 1.
    pub round: u32,
    /// Who was fastest then, as an index into the task's candidates.
    pub leader: u32,
    /// Its time divided by the leader's, the median over rounds.
    pub ratio: f64,
    /// About how many repetitions it would otherwise have had besides.
    pub saved_repetitions: f64,
    /// About how long they would have taken.
    pub saved_seconds: f64,
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
