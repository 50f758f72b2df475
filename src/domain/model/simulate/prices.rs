//! The costs of a schedule's actions on a machine.

use schedule::{Buffer, Rank, Schedule, Span};
use vocabulary::Placement;

use super::{Setting, SimulationError, Topology};
use crate::{Level, Line, Link, Machine};

/// The costs of all actions of a schedule.
#[derive(Clone)]
pub(super) struct Prices<'a> {
    pub(super) machine: &'a Machine,
    node: &'a Link,
    network: &'a Link,
    /// The longest message that is eager on any level.
    largest_eager: Option<u64>,
    /// The factor on the time of bytes for buffers that exceed the caches.
    memory: f64,
    /// The port that the ranks of a node share, if any.
    injection: Option<Injection>,
    topology: Topology,
    /// The level of all messages, if it is the same.
    only: Option<Level>,
    unit_bytes: u64,
}

/// The port that the ranks of a node share.
#[derive(Clone, Copy)]
pub(super) struct Injection {
    /// Seconds per byte.
    pub(super) beta: f64,
    /// Additional seconds for which a message occupies a rail.
    pub(super) gap: f64,
    pub(super) rails: usize,
}

impl Injection {
    fn from_machine(machine: &Machine) -> Option<Self> {
        let Machine {
            injection_beta: beta,
            injection_gap: gap,
            rails,
            ..
        } = *machine;
        (beta.is_some() || gap.is_some()).then(|| Self {
            beta: beta.unwrap_or(0.0),
            gap: gap.unwrap_or(0.0),
            rails: rails.unwrap_or(1) as usize,
        })
    }
}

/// The other actions of a message's ends in its round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Circumstances {
    /// One of them also has a message in the opposite direction, with the same rank or a third one.
    pub(super) exchange: bool,
    pub(super) shift: bool,
    /// The sender has several messages to send.
    pub(super) fan_out: bool,
    /// The receiver has several messages to receive.
    pub(super) fan_in: bool,
    /// The sender has received or combined data in an earlier round of the call.
    pub(super) fresh: bool,
}

/// The cost of a message, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) alpha: f64,
    pub(super) overhead: f64,
    /// For its bytes, until delivery.
    pub(super) gap: f64,
    /// For its bytes, in the ports.
    pub(super) port_gap: f64,
}

/// The number of ranks whose buffers are examined; further ones are mostly like them.
const LOOKED_AT: u32 = 64;

/// The bytes of all buffers of the ranks of a node.
fn buffer_bytes_of_node(schedule: &Schedule, topology: &Topology, unit_bytes: u64) -> f64 {
    let ranks = schedule.shape().ranks;
    let looked_at = ranks.min(LOOKED_AT);
    let of_rank = |rank| {
        let layout = schedule.layout(rank);
        let scratch = (0..layout.scratch_rooms().len()).map(|index| Buffer::Scratch(index as u8));
        let buffers = [Buffer::Input, Buffer::Output].into_iter().chain(scratch);
        let units: u64 = buffers.map(|buffer| layout.capacity(buffer)).sum();
        units as f64
    };
    let units: f64 = (0..looked_at).map(of_rank).sum();
    let a_node = f64::from(ranks) / f64::from(topology.nodes().min(ranks));
    units / f64::from(looked_at.max(1)) * a_node * unit_bytes as f64
}

fn memory_factor(
    schedule: &Schedule,
    machine: &Machine,
    topology: &Topology,
    unit_bytes: u64,
) -> f64 {
    machine.cache.map_or(1.0, |cache| {
        let bytes = buffer_bytes_of_node(schedule, topology, unit_bytes);
        let beyond = (1.0 - cache.bytes / bytes.max(1.0)).max(0.0);
        1.0 + (cache.beyond - 1.0) * beyond
    })
}

impl<'a> Prices<'a> {
    pub(super) fn new(schedule: &Schedule, setting: &Setting<'a>) -> Result<Self, SimulationError> {
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
        let link = |level| {
            let missing = || SimulationError::NoLink {
                machine: machine.name.clone(),
                level,
            };
            machine.link(level).ok_or_else(missing)
        };
        let [node, network] = match only {
            Some(level) => [link(level)?, link(level)?],
            None => [link(Level::Node)?, link(Level::Network)?],
        };
        Ok(Self {
            machine,
            largest_eager: node.eager_limit.max(network.eager_limit),
            node,
            network,
            memory: memory_factor(schedule, machine, &topology, unit_bytes),
            injection: Injection::from_machine(machine).filter(|_| only != Some(Level::Node)),
            topology,
            only,
            unit_bytes,
        })
    }

    /// The price of messages on a level, and the factor on the time of their bytes.
    #[inline]
    fn link_and_factor(&self, level: Level) -> (&Link, f64) {
        match level {
            Level::Node | Level::Shared => (self.node, self.memory),
            Level::Network => (self.network, 1.0),
        }
    }

    /// The cost of a message on a level in the given circumstances.
    pub(super) fn message_cost(&self, level: Level, bytes: u64, at: Circumstances) -> Cost {
        let (link, memory) = self.link_and_factor(level);
        let line = link.line_for_size(bytes);
        let exchange = line.exchange.unwrap_or(1.0);
        let both_ways = match (at.exchange, at.shift) {
            (_, true) => link.shift.unwrap_or(exchange),
            (true, false) => exchange,
            (false, false) => 1.0,
        };
        let if_so = |is_so: bool, factor: Option<f64>| factor.filter(|_| is_so).unwrap_or(1.0);
        let slower = both_ways * if_so(at.fresh, line.fresh);
        let fan = if_so(at.fan_out, link.fan_out) * if_so(at.fan_in, link.fan_in);
        let gap = line.beta * bytes as f64 * slower * memory;
        Cost {
            alpha: line.alpha * slower,
            overhead: line.overhead.unwrap_or(line.alpha) * slower,
            gap,
            port_gap: gap * fan,
        }
    }

    pub(super) fn message_level(&self, from: Rank, to: Rank) -> Level {
        match self.only {
            Some(level) => level,
            None if self.topology.node_of_rank(from) == self.topology.node_of_rank(to) => {
                Level::Node
            }
            None => Level::Network,
        }
    }

    /// Whether a message does not wait for its receiver.
    pub(super) fn is_eager(&self, from: Rank, to: Rank, bytes: u64) -> bool {
        let within = |limit: Option<u64>| limit.is_some_and(|limit| bytes <= limit);
        within(self.largest_eager)
            && within(
                self.link_and_factor(self.message_level(from, to))
                    .0
                    .eager_limit,
            )
    }

    /// Whether a message can delay messages of other rounds.
    pub(super) fn may_delay_other_rounds(&self) -> bool {
        self.largest_eager.is_some() || self.injection.is_some()
    }

    /// Whether the cost of a message may depend on the receiver's other message in the round.
    pub(super) fn depends_on_receiver(&self) -> bool {
        let depends = |link: &Link| {
            let mut lines = link.lines.iter();
            link.shift.is_some() || lines.any(|line| line.exchange.is_some())
        };
        depends(self.node) || depends(self.network)
    }

    /// Whether messages of different ranks of a node can delay each other.
    pub(super) fn shares_ports_of_nodes(&self) -> bool {
        self.injection.is_some()
    }

    /// The nodes whose shared ports a message passes, and the port.
    pub(super) fn shared_ports(&self, from: Rank, to: Rank) -> Option<([u32; 2], Injection)> {
        let injection = self.injection?;
        let nodes = [from, to].map(|rank| self.topology.node_of_rank(rank));
        (nodes[0] != nodes[1]).then_some((nodes, injection))
    }

    /// The number of messages that pass a node's port at once.
    pub(super) fn rails_per_node(&self) -> usize {
        self.injection.map_or(0, |injection| injection.rails)
    }

    /// The index of a rank in its group.
    pub(super) fn index_in_group(&self, rank: Rank) -> u32 {
        match self.only {
            Some(Level::Node | Level::Shared) => 0,
            Some(Level::Network) | None => self.topology.place_on_node(rank),
        }
    }

    /// The number of ranks of a group, if `ranks` are two or more groups: all costs between two groups are the same,
    /// and so are those within each.
    pub(super) fn group_size(&self, ranks: u32) -> Option<u32> {
        let group = match self.only {
            Some(Level::Node | Level::Shared) => 1,
            Some(Level::Network) | None => self.topology.ranks_per_block()?,
        };
        (ranks > group && ranks.is_multiple_of(group)).then_some(group)
    }

    /// The number of ranks of a group where neighbours are on different nodes, if `ranks` are two or more groups.
    pub(super) fn cyclic_group_size(&self, ranks: u32) -> Option<u32> {
        let nodes = self.topology.cyclic_nodes()?;
        let is_full = ranks.is_multiple_of(nodes) && nodes > 1;
        is_full.then(|| ranks / nodes)
    }

    /// The same costs for ranks that are numbered node by node.
    pub(super) fn numbered_by_nodes(&self, ranks_per_node: u32) -> Self {
        Self {
            topology: Topology::new(self.topology.nodes(), ranks_per_node, Placement::Block),
            ..self.clone()
        }
    }

    pub(super) fn nodes(&self) -> u32 {
        self.topology.nodes()
    }

    pub(super) fn span_bytes(&self, schedule: &Schedule, rank: Rank, span: &Span) -> u64 {
        schedule
            .span_units(rank, span)
            .saturating_mul(self.unit_bytes)
    }

    /// The time to combine.
    pub(super) fn combine_seconds(&self, bytes: u64) -> Result<f64, SimulationError> {
        let line = Line::for_size(&self.machine.combining, bytes).map(|line| line.seconds(bytes));
        match line.or(self.machine.gamma.map(|gamma| gamma * bytes as f64)) {
            Some(seconds) => Ok(seconds * self.memory),
            None => Err(SimulationError::NoGamma {
                machine: self.machine.name.clone(),
            }),
        }
    }

    /// The time to copy.
    pub(super) fn copy_seconds(&self, bytes: u64) -> f64 {
        let line = Line::for_size(&self.machine.copying, bytes).filter(|_| bytes > 0);
        let each = self.machine.copy.unwrap_or(0.0);
        line.map_or(each * bytes as f64, |line| line.seconds(bytes)) * self.memory
    }
}
