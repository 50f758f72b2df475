//! The parameters of a machine, as its file holds them.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use vocabulary::bounds::{BYTE_TIME, Bounds, JITTER, LATENCY, PROBABILITY, RANKS, SLOWDOWN};

/// A machine, with the keys of the machine file. SI units: seconds, and seconds per byte.
///
/// What was not measured, or could not be identified from the measurements, is absent; whatever
/// would need it has no prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What the machine is called.
    pub name: String,
    /// Ranks on each node.
    pub ranks_per_node: u32,
    /// Between ranks on different nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Link>,
    /// Between ranks on one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Link>,
    /// Seconds per byte of the port that a node's ranks share; absent if it is not shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection_beta: Option<f64>,
    /// Seconds per byte combined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Seconds per byte copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<f64>,
    /// Disturbance of simulated times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

/// What a message costs on one level of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Seconds to start a message.
    pub alpha: f64,
    /// The part of `alpha`, in seconds, during which the ports are busy; absent means all of it,
    /// which is what the closed forms assume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<f64>,
    /// Seconds per byte.
    pub beta: f64,
    /// Largest message in bytes that is sent without waiting for its receiver; absent means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager_limit: Option<u64>,
}

/// How simulated times are disturbed: a factor on the noise-free time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Standard deviation of the logarithm of a repetition's time.
    pub jitter: f64,
    /// Share of the repetitions that are disturbed.
    pub spike_probability: f64,
    /// How much longer these last.
    pub spike_factor: f64,
    /// Share of the launches that are slow for their whole life.
    pub slow_launch_probability: f64,
    /// How much longer everything lasts in these.
    pub slow_launch_factor: f64,
}

/// The level on which the ranks of a communicator talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// All ranks on one node.
    Node,
    /// Ranks on several nodes; the slower level determines the time.
    Network,
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

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Network => "network",
        }
    }
}

/// The rates that the closed forms need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Seconds to start a message.
    pub alpha: f64,
    /// Seconds per byte sent.
    pub beta: f64,
    /// Seconds per byte combined, if known.
    pub gamma: Option<f64>,
}

impl Machine {
    /// The link of a level, if known.
    pub fn link(&self, level: Level) -> Option<&Link> {
        match level {
            Level::Node => self.node.as_ref(),
            Level::Network => self.network.as_ref(),
        }
    }

    /// The rates of a level; `None` if its link is unknown.
    pub fn rates(&self, level: Level) -> Option<Rates> {
        let link = self.link(level)?;
        Some(Rates {
            alpha: link.alpha,
            beta: link.beta,
            gamma: self.gamma,
        })
    }

    /// Checks that every parameter is in its range; for machines that come from a file.
    ///
    /// # Errors
    /// The first parameter that is not, with its value.
    pub fn validate(&self) -> Result<(), InvalidMachine> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(InvalidMachine::Name);
        }
        match self.ranks_per_node {
            0 => return Err(InvalidMachine::NoRanks),
            ranks if !RANKS.hold(ranks) => return Err(InvalidMachine::TooManyRanks { ranks }),
            _ => {}
        }
        if self.network.is_none() && self.node.is_none() {
            return Err(InvalidMachine::NoLink);
        }
        let rates = [
            ("injection_beta", self.injection_beta),
            ("gamma", self.gamma),
            ("copy", self.copy),
        ];
        for (key, value) in rates {
            in_range(key, value.unwrap_or(0.0), &BYTE_TIME)?;
        }
        let network = ["network.alpha", "network.overhead", "network.beta"];
        let node = ["node.alpha", "node.overhead", "node.beta"];
        for (keys, link) in [(network, self.network), (node, self.node)] {
            link.map_or(Ok(()), |link| link.validate(keys))?;
        }
        self.noise.map_or(Ok(()), Noise::validate)
    }
}

fn in_range(
    key: &'static str,
    value: f64,
    bounds: &'static Bounds<f64>,
) -> Result<(), InvalidMachine> {
    match bounds.hold(value) {
        true => Ok(()),
        false => Err(InvalidMachine::OutOfRange { key, value, bounds }),
    }
}

impl Link {
    /// The part of `alpha`, in seconds, during which the ports are busy.
    pub fn overhead_seconds(&self) -> f64 {
        self.overhead.unwrap_or(self.alpha)
    }

    /// `keys` are what a file calls `alpha`, `overhead` and `beta`.
    fn validate(self, keys: [&'static str; 3]) -> Result<(), InvalidMachine> {
        let (alpha, overhead) = (self.alpha, self.overhead_seconds());
        in_range(keys[0], alpha, &LATENCY)?;
        in_range(keys[1], overhead, &LATENCY)?;
        in_range(keys[2], self.beta, &BYTE_TIME)?;
        match overhead > alpha {
            true => Err(InvalidMachine::OverheadAboveAlpha {
                key: keys[1],
                value: overhead,
                alpha,
            }),
            false => Ok(()),
        }
    }
}

impl Noise {
    fn validate(self) -> Result<(), InvalidMachine> {
        let spikes = (self.spike_probability, self.spike_factor);
        let launches = (self.slow_launch_probability, self.slow_launch_factor);
        in_range("noise.jitter", self.jitter, &JITTER)?;
        in_range("noise.spike_probability", spikes.0, &PROBABILITY)?;
        in_range("noise.spike_factor", spikes.1, &SLOWDOWN)?;
        in_range("noise.slow_launch_probability", launches.0, &PROBABILITY)?;
        in_range("noise.slow_launch_factor", launches.1, &SLOWDOWN)?;
        is_slower("noise.spike_factor", spikes)?;
        is_slower("noise.slow_launch_factor", launches)
    }
}

/// Absent factors are 0, and mean nothing without a probability.
fn is_slower(key: &'static str, (probability, value): (f64, f64)) -> Result<(), InvalidMachine> {
    match probability > 0.0 && value < 1.0 {
        true => Err(InvalidMachine::FactorBelowOne { key, value }),
        false => Ok(()),
    }
}

/// A machine whose parameters make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum InvalidMachine {
    /// The name is part of names of files and libraries.
    #[error("`name` must be letters, digits, `-`, `_` and `.`")]
    Name,
    /// A disturbance that makes faster.
    #[error("`{key}` is {value}; what is disturbed lasts longer, so it must be at least 1")]
    FactorBelowOne {
        /// The key, with that of the object that holds it.
        key: &'static str,
        /// Its value.
        value: f64,
    },
    /// A node holds at least one rank.
    #[error("`ranks_per_node` is 0; a node has at least one rank")]
    NoRanks,
    /// More ranks on a node than can be numbered.
    #[error("`ranks_per_node` is {ranks}; it must be {RANKS}")]
    TooManyRanks {
        /// Its value.
        ranks: u32,
    },
    /// Neither level is described.
    #[error("neither `network` nor `node` is given; at least one of them is needed")]
    NoLink,
    /// A parameter is not a number, or outside of its range.
    #[error("`{key}` is {value}; it must be {bounds}")]
    OutOfRange {
        /// The key, with that of the object that holds it.
        key: &'static str,
        /// Its value.
        value: f64,
        /// Its range.
        bounds: &'static Bounds<f64>,
    },
    /// A part that is more than the whole.
    #[error("`{key}` is {value}; it is a part of `alpha` and cannot be more than {alpha}")]
    OverheadAboveAlpha {
        /// The key, with that of the object that holds it.
        key: &'static str,
        /// Its value.
        value: f64,
        /// The start-up time of which it is a part.
        alpha: f64,
    },
}

impl InvalidMachine {
    /// The key that is at fault, with that of the object that holds it; empty if no single one is.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::NoRanks | Self::TooManyRanks { .. } => "ranks_per_node",
            Self::NoLink => "",
            Self::OutOfRange { key, .. }
            | Self::OverheadAboveAlpha { key, .. }
            | Self::FactorBelowOne { key, .. } => key,
        }
    }
}
