//! Why a measurement is to be trusted less.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A reason to trust a measurement less; displayed as a full sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case", tag = "warning")]
pub enum Warning {
    /// Nothing was measured.
    #[error(
        "these are times of the simulated machine `{machine}`, and nothing was measured: do not deploy the \
         table; measure with `launcher: local` on the machine that is meant"
    )]
    Simulated {
        /// The machine's name.
        machine: String,
    },
    /// More ranks than cores on a node.
    #[error(
        "{ranks} ranks shared {cores} cores: times are dominated by the scheduler and say little about a \
         real machine; use at most {cores} ranks per node"
    )]
    Oversubscribed {
        /// Ranks on the node.
        ranks: u32,
        /// Its cores.
        cores: u32,
    },
    /// Agreed starts, with more ranks than cores on a node.
    #[error(
        "ranks that share cores cannot start together at an agreed time: use `synchronisation: barrier`, or \
         fewer ranks per node"
    )]
    CrowdedWindows,
    /// Other work was running at start.
    #[error(
        "the machine was busy ({}.{:02} other tasks running on {cores} cores): stop other work and measure \
         again",
        load_percent / 100,
        load_percent % 100
    )]
    BusyMachine {
        /// Runnable tasks beside our own, times 100.
        load_percent: u32,
        /// Cores of the node.
        cores: u32,
    },
    /// Ranks are free to move between cores.
    #[error(
        "ranks were not bound to cores and may migrate: bind them (for Open MPI `--bind-to core`, for MPICH \
         `-bind-to core`)"
    )]
    Unbound,
    /// Ranks are bound to cores that other ranks are bound to, though there are enough for all.
    #[error(
        "{ranks} ranks on {host} were bound to cores that other ranks were bound to, too, while others were \
         free: give each a core of its own (no second job there; for Open MPI `--map-by core`, for MPICH \
         `-map-by core`)"
    )]
    CrowdedCores {
        /// Ranks that share a core with another.
        ranks: u32,
        /// Where.
        host: String,
    },
    /// Jobs would not take orders.
    #[error(
        "jobs of this campaign measure nothing: the template lacks the line `{{{{ serve }}}}`, which takes colltune's \
         orders (jobs/README.md)"
    )]
    IdleJobs,
    /// Several nodes are one machine.
    #[error(
        "{nodes} nodes are one machine, whose {cores} cores {ranks} ranks shared: what goes between them \
         crosses no network; deploy the table on nothing but such nodes, and measure others on hosts of \
         their own"
    )]
    SharedMachine {
        /// Their number.
        nodes: u32,
        /// Ranks on them.
        ranks: u32,
        /// The machine's cores.
        cores: u32,
    },
    /// Nodes differ in their CPUs.
    #[error(
        "the nodes differ ({}), and the slowest decides every time: measure on nodes of one kind, with a \
         host file that names no others",
        kinds.join("; ")
    )]
    UnlikeNodes {
        /// An example of each kind: its host, its cores, its CPU.
        kinds: Vec<String>,
    },
    /// Settings change the library's own choice of algorithms.
    #[error(
        "`default` is not what the library chooses by itself, but what was set ({}): take that \
         back, unless all jobs run with it",
        settings.join(", ")
    )]
    SteeredDefault {
        /// The settings, as `NAME=value`, or the algorithms that are forced.
        settings: Vec<String>,
    },
    /// The frequency governor may change the clock.
    #[error("the CPU frequency governor is `{name}`: set it to `performance` for steady times")]
    Governor {
        /// Its name.
        name: String,
    },
    /// The timer's step is coarse.
    #[error(
        "the timer advances in steps of {resolution_nanoseconds} ns: times near that are rounded; use a \
         kernel clock source such as tsc"
    )]
    CoarseTimer {
        /// The step in nanoseconds.
        resolution_nanoseconds: u64,
    },
    /// The times were imported.
    #[error(
        "times were imported from {file}, and colltune does not know how they were measured: measure again \
         where the table is to be used before relying on it"
    )]
    Imported {
        /// The file that they were read from.
        file: String,
    },
    /// The times are averages over ranks and not those of the slowest rank.
    #[error(
        "some imported times are averages over ranks and not those of the slowest rank, which favours what \
         leaves a few ranks waiting: run the OSU benchmarks with `-f` and import their output again into a \
         new store"
    )]
    AverageOverRanks,
    /// The root changed from call to call.
    #[error(
        "the Intel MPI Benchmarks may have changed the root from call to call, so that successive calls \
         overlap and rooted collectives seem faster than they are: use a release from 2018 on with \
         `-root_shift off`"
    )]
    RotatingRoot,
    /// Another candidate stands for the library's default, which was not measured.
    #[error(
        "the library's default was not measured: `default` stands for {candidate}; measure the default too \
         if the table is to be deployed"
    )]
    Baseline {
        /// Its full name.
        candidate: String,
    },
}
