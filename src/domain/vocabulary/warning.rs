//! Reasons to trust a measurement less.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::units::format_counted;

/// A reason to trust a measurement less, displayed as a full sentence with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case", tag = "warning")]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum Warning {
    /// Nothing was measured.
    #[error(
        "these are times of the simulated machine `{machine}`, and nothing was measured: do not deploy the \
         table; measure with `launcher: local` on the machine that is meant"
    )]
    Simulated { machine: String },
    /// More ranks than cores on a node.
    #[error(
        "{ranks} ranks shared {}: times are dominated by the scheduler and say little about a \
         real machine; use at most {} per node",
        format_counted(cores, "core"),
        format_counted(cores, "rank")
    )]
    Oversubscribed { ranks: u32, cores: u32 },
    /// Ranks should start at agreed times, but share cores.
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
        /// Runnable tasks besides the ranks, times 100.
        load_percent: u32,
        cores: u32,
    },
    /// Ranks are not bound and may move between cores.
    #[error(
        "ranks were not bound to cores and may migrate: bind them (for Open MPI `--bind-to core`, for MPICH \
         `-bind-to core`)"
    )]
    Unbound,
    /// Ranks are bound to cores of other ranks, although there are enough cores for all.
    #[error(
        "{ranks} ranks on {host} were bound to the same cores as other ranks, although others were \
         free: give each rank a separate core (no second job there; for Open MPI `--map-by core`, for MPICH \
         `-map-by core`)"
    )]
    CrowdedCores { ranks: u32, host: String },
    /// Jobs would not accept orders.
    #[error(
        "jobs of this campaign measure nothing: the template lacks the line `{{{{ serve }}}}`, which takes colltune's \
         orders (jobs/README.md)"
    )]
    IdleJobs,
    /// Ranks of a node have no memory in common.
    #[error(
        "ranks of one node have no memory in common ({reason}): nothing was measured through shared memory, and rules \
         for it would not be used; see \"Shared memory\" in docs/run-time.md"
    )]
    NoSharedMemory { reason: String },
    /// The store has the campaign with the defaults of an older version.
    #[error(
        "an older version of colltune began this store, and its defaults still hold there: algorithms that know \
         nodes, shared memory, and the library's own algorithms take part only where the campaign names them; to \
         measure all of them, name a new store (`output: {{store: FILE}}`)"
    )]
    OlderDefaults,
    /// Several nodes are one machine.
    #[error(
        "{nodes} nodes are one machine, whose {} {ranks} ranks shared: what goes between them \
         crosses no network; deploy the table on nothing but such nodes, and measure others on hosts of \
         their own",
        format_counted(cores, "core")
    )]
    SharedMachine { nodes: u32, ranks: u32, cores: u32 },
    /// Nodes differ in their CPUs or networks.
    #[error(
        "the nodes differ ({}), and the slowest determines every time: measure on nodes of one kind, with a \
         host file that names only these",
        kinds.join("; ")
    )]
    UnlikeNodes {
        /// An example of each kind: its host, its cores, its CPU, and its networks if these differ.
        kinds: Vec<String>,
    },
    /// Settings change the library's own choice of algorithms.
    #[error(
        "`default` is not the library's own choice, but was changed by settings ({}): remove them, unless \
         all jobs run with them",
        settings.join(", ")
    )]
    SteeredDefault { settings: Vec<String> },
    /// The frequency governor may change the clock.
    #[error("the CPU frequency governor is `{name}`: set it to `performance` for steady times")]
    Governor { name: String },
    /// The timer has a coarse resolution.
    #[error(
        "the timer advances in steps of {resolution_nanoseconds} ns: times near that are rounded; use a \
         kernel clock source such as tsc"
    )]
    CoarseTimer { resolution_nanoseconds: u64 },
    /// The times were imported.
    #[error(
        "times were imported from {file}, and colltune does not know how they were measured: measure again \
         where the table is to be used before relying on it"
    )]
    Imported { file: String },
    /// The times are averages over ranks instead of those of the slowest rank.
    #[error(
        "some imported times are averages over ranks instead of those of the slowest rank, which favours \
         candidates that make only a few ranks wait: run the OSU benchmarks with `-f` and import their output \
         again into a new store"
    )]
    AverageOverRanks,
    /// The root may have changed from call to call.
    #[error(
        "the Intel MPI Benchmarks may have changed the root from call to call, so that successive calls \
         overlap and rooted collectives seem faster than they are: use a release from 2018 on with \
         `-root_shift off`"
    )]
    RotatingRoot,
    /// Another candidate takes the place of the library's default, which was not measured.
    #[error(
        "the library's default was not measured: `default` means {candidate}; measure the default too \
         if the table is to be deployed"
    )]
    Baseline { candidate: String },
}
