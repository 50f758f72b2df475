//! The parameters of a machine, as in its file.
//!
//! Messages within a node, through its shared memory, and between nodes are levels, each with a link of its own. The
//! link of shared memory also has a `gamma`: how much longer a byte takes if it is combined as it arrives. For
//! candidates through shared memory that link takes the place of the node's link; simulation, prediction and search
//! then work as on any machine. All of such a candidate's combinations then cost that `gamma`, also those few that the
//! executor does not do as data arrives.
//!
//! A link may have lines by size, with factors for exchanges; shifts and fans have factors of the link. A machine with
//! one line and no factor is what it was in version 0.1.

use serde::{Deserialize, Serialize};
use vocabulary::{CommShape, Experiment, ExperimentKind};

/// A machine, with the keys of the machine file. SI units: seconds, and seconds per byte.
///
/// A parameter that was not measured, or could not be identified from the measurements, is absent; predictions that
/// need it are impossible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The machine's name.
    pub name: String,
    /// Ranks on each node.
    pub ranks_per_node: u32,
    /// The link between ranks on different nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Link>,
    /// The link between ranks on one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Link>,
    /// The link between ranks on one node for messages through shared memory; absent if there are no such messages, or
    /// if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Link>,
    /// Seconds per byte on each rail of the port that a node's ranks share; absent if the port is not shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection_beta: Option<f64>,
    /// Seconds for which a message occupies a rail of this port besides its bytes; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection_gap: Option<f64>,
    /// The number of rails: messages that pass this port at once, in either direction; 1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rails: Option<u32>,
    /// The long receives that are posted one round ahead; none if absent.
    #[serde(default, skip_serializing_if = "PostAhead::is_none")]
    pub post_ahead: PostAhead,
    /// Seconds per byte combined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Seconds per byte copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<f64>,
    /// The cost of combining by size, used instead of `gamma` in simulations; empty if it follows `gamma`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub combining: Vec<Line>,
    /// The cost of copying by size, used instead of `copy` in simulations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copying: Vec<Line>,
    /// The cost of calls with vectors larger than the caches; absent if there is no difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// The disturbance of simulated times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

/// The receives that are posted one round ahead, of those for which [`vocabulary::is_posted_ahead`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PostAhead {
    /// None: each is posted in its own round, as by `MPI_Sendrecv`.
    #[default]
    None,
    /// Those of messages between nodes; messages within nodes go through shared memory.
    Network,
    /// All, as colltune posts them on MPI.
    All,
}

impl PostAhead {
    /// The name used in files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Network => "network",
            Self::All => "all",
        }
    }

    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// A range of sizes on a line: from `from` bytes on, up to the start of the next line, `n` bytes take `alpha + beta n`
/// seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The first size; the first line also holds for smaller ones.
    pub from: u64,
    /// Seconds to start.
    pub alpha: f64,
    /// For messages: the part of `alpha`, in seconds, during which the ports are busy; absent means all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<f64>,
    /// Seconds per byte.
    pub beta: f64,
    /// For messages: the factor on the time while its two ranks exchange messages; absent means 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<f64>,
    /// For messages: the factor on the time if the sender has received or combined data earlier in the call, so that
    /// the data may be in the sender's cache and not in the receiver's. Absent means 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<f64>,
}

/// The caches that a node's ranks share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// The number of bytes of a call's buffers that stay in caches, over all ranks of a node.
    pub bytes: f64,
    /// The factor on the time of bytes beyond. In a call with larger buffers, the share of its bytes that exceeds the
    /// caches is slower by this factor in messages within a node, in combinations and in copies.
    pub beyond: f64,
}

/// The cost of a message on one level of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Seconds to start a message.
    pub alpha: f64,
    /// The part of `alpha`, in seconds, during which the ports are busy; absent means all of it, as the closed forms
    /// of messages one after the other assume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<f64>,
    /// Seconds per byte.
    pub beta: f64,
    /// Largest message in bytes that is sent without waiting for its receiver; absent means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager_limit: Option<u64>,
    /// The lines that messages follow, by ascending size, used instead of `alpha`, `overhead` and `beta` in
    /// simulations; empty if all messages follow one line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
    /// The factor on a message's time while one of its ranks has another message in the opposite direction, from or to
    /// a third rank; absent means as in an exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<f64>,
    /// The factor on the time per byte in the sender's port while the sender has several messages to send; absent means
    /// 1. Below 1 the messages overlap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<f64>,
    /// The factor on the time per byte in the receiver's port while the receiver has several messages to receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan_in: Option<f64>,
    /// Seconds per byte combined directly from a message, for messages through shared memory only; absent means as from
    /// other memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
}

/// The disturbance of simulated times: a factor on the noise-free time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Standard deviation of the logarithm of a repetition's time.
    pub jitter: f64,
    /// Share of disturbed repetitions.
    pub spike_probability: f64,
    /// Factor on the times of disturbed repetitions.
    pub spike_factor: f64,
    /// Share of launches that are slow from begin to end.
    pub slow_launch_probability: f64,
    /// Factor on all times in slow launches.
    pub slow_launch_factor: f64,
}

/// The level of the messages of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// All ranks on one node.
    Node,
    /// Ranks on several nodes; the slower level determines the time.
    Network,
    /// All ranks on one node, with messages through shared memory.
    Shared,
}

impl Level {
    /// The level that determines the time of a collective over this many nodes.
    pub fn of_nodes(nodes: u32) -> Self {
        if nodes <= 1 {
            Self::Node
        } else {
            Self::Network
        }
    }

    /// The level of an experiment's messages.
    pub fn of_experiment(experiment: &Experiment) -> Self {
        let CommShape { nodes, ppn } = experiment.shape;
        match experiment.kind {
            _ if !experiment.through.is_mpi() => Self::Shared,
            ExperimentKind::Injection => Self::Network,
            ExperimentKind::Burst if experiment.is_among_nodes() => Self::Network,
            // All ranks take part.
            ExperimentKind::Shift | ExperimentKind::FanOut | ExperimentKind::FanIn => {
                Self::of_nodes(nodes)
            }
            // Ranks 0 and 1 share a node if nodes have several ranks, since launchers fill a node before the next.
            _ if ppn > 1 => Self::Node,
            _ => Self::of_nodes(nodes),
        }
    }

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Network => "network",
            Self::Shared => "shared",
        }
    }
}

/// The rates that the closed forms need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Seconds to start a message.
    pub alpha: f64,
    /// The part of `alpha`, in seconds, after which a port may start its next message; it counts only where a rank sends
    /// several messages at once.
    pub overhead: f64,
    /// Seconds per byte sent.
    pub beta: f64,
    /// Seconds per byte combined, if known.
    pub gamma: Option<f64>,
}

/// The parameters of a machine with nodes that closed forms use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tiers {
    /// Within nodes.
    pub node: Rates,
    /// Between nodes.
    pub network: Rates,
    /// [`Machine::injection_beta`] and [`Machine::injection_gap`], 0 where the port is not shared.
    pub injection: [f64; 2],
    /// [`Machine::rails`], at least 1.
    pub rails: u32,
}

/// The same rates within and between nodes.
impl From<Rates> for Tiers {
    fn from(rates: Rates) -> Self {
        Self {
            node: rates,
            network: rates,
            injection: [0.0; 2],
            rails: 1,
        }
    }
}

impl Tiers {
    /// The rates between nodes of each of several ranks of a node that send at once.
    pub(crate) fn between_nodes(&self, senders: u32) -> Rates {
        let [beta, gap] = self.injection;
        let in_turn = f64::from(senders.div_ceil(self.rails.max(1)));
        Rates {
            alpha: self.network.alpha + (in_turn - 1.0) * gap,
            overhead: self.network.overhead.max(in_turn * gap),
            beta: self.network.beta.max(in_turn * beta),
            ..self.network
        }
    }
}

impl Machine {
    /// The parameters for closed forms, with these rates within and between nodes.
    pub fn tiers_with_rates(&self, node: Rates, network: Rates) -> Tiers {
        let injection = [self.injection_beta, self.injection_gap];
        Tiers {
            node,
            network,
            injection: injection.map(Option::unwrap_or_default),
            rails: self.rails.unwrap_or(1),
        }
    }

    /// The link of a level, if known.
    pub fn link(&self, level: Level) -> Option<&Link> {
        match level {
            Level::Node => self.node.as_ref(),
            Level::Network => self.network.as_ref(),
            Level::Shared => self.shared.as_ref(),
        }
    }

    /// The machine for candidates that send messages within nodes through shared memory: the link `shared` replaces
    /// `node`. `None` if `shared` is unknown.
    pub fn through_shared(&self) -> Option<Self> {
        let mut shared = self.shared.clone()?;
        let mut machine = self.clone();
        if let Some(gamma) = shared.gamma.take() {
            machine.gamma = Some(gamma);
            machine.combining.clear();
        }
        machine.node = Some(shared);
        if machine.post_ahead == PostAhead::All {
            machine.post_ahead = PostAhead::Network;
        }
        Some(machine)
    }

    /// The rates of a level; `None` if its link is unknown.
    pub fn rates(&self, level: Level) -> Option<Rates> {
        let link = self.link(level)?;
        Some(Rates {
            alpha: link.alpha,
            overhead: link.overhead_seconds(),
            beta: link.beta,
            gamma: self.gamma,
        })
    }
}

impl Line {
    /// The line that holds for a size; `None` without lines.
    pub fn for_size(lines: &[Self], bytes: u64) -> Option<&Self> {
        let later = lines.iter().skip(1).take_while(|line| line.from <= bytes);
        later.last().or(lines.first())
    }

    /// The time of `bytes` in seconds.
    pub fn seconds(&self, bytes: u64) -> f64 {
        self.alpha + self.beta * bytes as f64
    }
}

impl Link {
    /// The line that a message follows.
    pub fn line_for_size(&self, bytes: u64) -> Line {
        Line::for_size(&self.lines, bytes).copied().unwrap_or(Line {
            alpha: self.alpha,
            overhead: self.overhead,
            beta: self.beta,
            ..Line::default()
        })
    }

    /// The part of `alpha`, in seconds, during which the ports are busy.
    pub fn overhead_seconds(&self) -> f64 {
        self.overhead.unwrap_or(self.alpha)
    }
}
