//! What a schedule's actions cost on a machine.

use schedule::{Rank, Schedule, Span};

use super::{Setting, SimulationError, Topology};
use crate::{Level, Link};

/// The prices of all that a schedule does.
pub(super) struct Prices {
    node: Link,
    network: Link,
    /// The longest message that is eager on any level.
    largest_eager: Option<u64>,
    gamma: Option<f64>,
    copy: f64,
    injection_beta: Option<f64>,
    topology: Topology,
    /// Where all messages cost the same.
    only: Option<Level>,
    unit_bytes: u64,
    machine: String,
}

impl Prices {
    pub(super) fn new(schedule: &Schedule, setting: &Setting<'_>) -> Result<Self, SimulationError> {
        let Setting {
            machine,
            topology,
            unit_bytes,
        } = *setting;
        machine.validate()?;
        let ranks = schedule.shape().ranks;
        if u64::from(ranks) > topology.ranks() {
            return Err(SimulationError::NoRoom {
                ranks,
                room: topology.ranks(),
            });
        }
        let only = topology.only_level(ranks);
        let link = |level| match machine.link(level) {
            Some(link) => Ok(*link),
            None => Err(SimulationError::NoLink {
                machine: machine.name.clone(),
                level,
            }),
        };
        let [node, network] = match only {
            Some(level) => [link(level)?; 2],
            None => [link(Level::Node)?, link(Level::Network)?],
        };
        Ok(Self {
            largest_eager: node.eager_limit.max(network.eager_limit),
            node,
            network,
            gamma: machine.gamma,
            copy: machine.copy.unwrap_or(0.0),
            injection_beta: machine.injection_beta.filter(|_| only != Some(Level::Node)),
            topology,
            only,
            unit_bytes,
            machine: machine.name.clone(),
        })
    }

    /// The price of messages from one rank to another.
    pub(super) fn link(&self, from: Rank, to: Rank) -> &Link {
        match self.level(from, to) {
            Level::Node => &self.node,
            Level::Network => &self.network,
        }
    }

    pub(super) fn level(&self, from: Rank, to: Rank) -> Level {
        match self.only {
            Some(level) => level,
            None if self.topology.node(from) == self.topology.node(to) => Level::Node,
            None => Level::Network,
        }
    }

    /// Whether a message does not wait for its receiver.
    pub(super) fn is_eager(&self, from: Rank, to: Rank, bytes: u64) -> bool {
        let limit = self.largest_eager;
        limit.is_some_and(|limit| bytes <= limit)
            && self
                .link(from, to)
                .eager_limit
                .is_some_and(|limit| bytes <= limit)
    }

    /// Whether messages of different ranks of a node are in each other's way.
    pub(super) fn shares_ports_of_nodes(&self) -> bool {
        self.injection_beta.is_some()
    }

    /// The nodes whose shared ports a message passes, and the seconds that it takes there.
    pub(super) fn injection(&self, from: Rank, to: Rank, bytes: u64) -> Option<([u32; 2], f64)> {
        let beta = self.injection_beta?;
        let nodes = [from, to].map(|rank| self.topology.node(rank));
        (nodes[0] != nodes[1]).then_some((nodes, beta * bytes as f64))
    }

    pub(super) fn nodes(&self) -> u32 {
        self.topology.nodes()
    }

    pub(super) fn bytes(&self, schedule: &Schedule, span: &Span) -> u64 {
        schedule.span_units(span).saturating_mul(self.unit_bytes)
    }

    /// The time to combine.
    pub(super) fn combine(&self, bytes: u64) -> Result<f64, SimulationError> {
        match self.gamma {
            Some(gamma) => Ok(gamma * bytes as f64),
            None => Err(SimulationError::NoGamma {
                machine: self.machine.clone(),
            }),
        }
    }

    /// The time to copy.
    pub(super) fn copy(&self, bytes: u64) -> f64 {
        self.copy * bytes as f64
    }
}
