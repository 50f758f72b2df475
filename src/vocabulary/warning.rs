//! Why a measurement is to be trusted less.

use std::fmt;

use serde::{Deserialize, Serialize};

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
