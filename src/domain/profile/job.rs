//! The jobs that profiles are of.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Time;

/// The ranks whose arrivals were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ComparedRanks {
    /// Those of each node with each other: the job was killed, so waiting for ranks of other nodes counts as
    /// communication.
    WithinNodes,
    /// All of each communicator.
    AllRanks,
}

/// A job, or some of its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedJob {
    /// The name of the program's file.
    pub program: String,
    /// The MPI library, such as `openmpi-4.1.4`.
    pub library: String,
    /// The time at which the job started MPI, in seconds since 1970.
    pub started: u64,
    /// The number of ranks that the profile is of.
    pub ranks: u64,
    /// The number of ranks of the job.
    pub all_ranks: u64,
    /// The number of nodes of the job.
    pub nodes: u64,
    /// The longest time that a rank was between `MPI_Init` and `MPI_Finalize`.
    #[serde(rename = "seconds")]
    pub time: Time,
    /// The times of all ranks together.
    #[serde(rename = "rank_seconds")]
    pub rank_time: Time,
    /// The first ranks of the nodes that the profile is a part of the job's for; empty in the profile of a whole job.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub parts: BTreeSet<u64>,
    /// The ranks whose arrivals were compared.
    pub arrivals: ComparedRanks,
}

impl RecordedJob {
    /// Whether the profile is of the whole job, which ended by `MPI_Finalize`.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds other ranks of the same job.
    pub(crate) fn add_ranks(&mut self, other: &Self) {
        self.ranks = self.ranks.saturating_add(other.ranks);
        self.time = self.time.max(other.time);
        self.rank_time += other.rank_time;
        self.parts.extend(&other.parts);
        self.arrivals = self.arrivals.min(other.arrivals);
        // These are the same for all ranks; the larger one makes the sum of wrong files independent of the order.
        self.all_ranks = self.all_ranks.max(other.all_ranks);
        self.nodes = self.nodes.max(other.nodes);
        self.started = self.started.max(other.started);
        if other.program > self.program {
            self.program.clone_from(&other.program);
        }
        if other.library > self.library {
            self.library.clone_from(&other.library);
        }
    }
}
