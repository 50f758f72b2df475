//! The parameters of a machine, as in its file.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use vocabulary::bounds::{
    BYTE_TIME, Bounds, CAPACITY, FACTOR, JITTER, LATENCY, PROBABILITY, RANKS, SLOWDOWN,
};

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
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The valid numbers of rails of a node's port.
const RAILS: RangeInclusive<u32> = 1..=64;

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
    /// assume.
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
            beta: self.network.beta.max(in_turn * beta),
            ..self.network
        }
    }
}

impl Machine {
    /// The parameters for closed forms, with these rates within and between nodes.
    pub fn tiers(&self, node: Rates, network: Rates) -> Tiers {
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
            beta: link.beta,
            gamma: self.gamma,
        })
    }

    /// Checks that every parameter is in its range; for machines that come from a file.
    ///
    /// # Errors
    /// The first parameter out of range, with its value.
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
        if self.network.is_none() && self.node.is_none() && self.shared.is_none() {
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
        in_range("injection_gap", self.injection_gap.unwrap_or(0.0), &LATENCY)?;
        if let Some(rails) = self.rails.filter(|rails| !RAILS.contains(rails)) {
            return Err(InvalidMachine::Rails { rails });
        }
        if self.rails.is_some() && self.injection_beta.is_none() && self.injection_gap.is_none() {
            return Err(InvalidMachine::NothingPassesRails);
        }
        let network = [
            "network.alpha",
            "network.overhead",
            "network.beta",
            "network.lines",
            "network",
        ];
        let node = [
            "node.alpha",
            "node.overhead",
            "node.beta",
            "node.lines",
            "node",
        ];
        let shared = [
            "shared.alpha",
            "shared.overhead",
            "shared.beta",
            "shared.lines",
            "shared",
        ];
        for (keys, link) in [
            (network, &self.network),
            (node, &self.node),
            (shared, &self.shared),
        ] {
            link.as_ref().map_or(Ok(()), |link| link.validate(keys))?;
        }
        if let Some(gamma) = self.shared.as_ref().and_then(|link| link.gamma) {
            in_range("shared.gamma", gamma, &BYTE_TIME)?;
        }
        for (key, link) in [("network.gamma", &self.network), ("node.gamma", &self.node)] {
            if link.as_ref().is_some_and(|link| link.gamma.is_some()) {
                return Err(InvalidMachine::GammaOfMpi { key });
            }
        }
        lines_in_range("combining", &self.combining)?;
        lines_in_range("copying", &self.copying)?;
        if let Some(cache) = self.cache {
            in_range("cache.bytes", cache.bytes, &CAPACITY)?;
            in_range("cache.beyond", cache.beyond, &FACTOR)?;
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

fn lines_in_range(key: &'static str, lines: &[Line]) -> Result<(), InvalidMachine> {
    if lines.windows(2).any(|pair| pair[0].from >= pair[1].from) {
        return Err(InvalidMachine::LinesOutOfOrder { key });
    }
    for line in lines {
        in_range(key, line.alpha, &LATENCY)?;
        in_range(key, line.overhead.unwrap_or(0.0), &LATENCY)?;
        in_range(key, line.beta, &BYTE_TIME)?;
        for factor in [line.exchange, line.fresh] {
            in_range(key, factor.unwrap_or(1.0), &FACTOR)?;
        }
        overhead_within(key, line.overhead.unwrap_or(0.0), line.alpha)?;
    }
    Ok(())
}

fn overhead_within(key: &'static str, value: f64, alpha: f64) -> Result<(), InvalidMachine> {
    match value > alpha {
        true => Err(InvalidMachine::OverheadAboveAlpha { key, value, alpha }),
        false => Ok(()),
    }
}

impl Line {
    /// The line that holds for a size; `None` without lines.
    pub fn of(lines: &[Self], bytes: u64) -> Option<&Self> {
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
    pub fn line(&self, bytes: u64) -> Line {
        Line::of(&self.lines, bytes).copied().unwrap_or(Line {
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

    /// Checks the ranges. `keys` are the names in files of `alpha`, `overhead`, `beta`, `lines`, and the link itself.
    fn validate(&self, keys: [&'static str; 5]) -> Result<(), InvalidMachine> {
        let (alpha, overhead) = (self.alpha, self.overhead_seconds());
        in_range(keys[0], alpha, &LATENCY)?;
        in_range(keys[1], overhead, &LATENCY)?;
        in_range(keys[2], self.beta, &BYTE_TIME)?;
        overhead_within(keys[1], overhead, alpha)?;
        lines_in_range(keys[3], &self.lines)?;
        for factor in [self.shift, self.fan_out, self.fan_in] {
            in_range(keys[4], factor.unwrap_or(1.0), &FACTOR)?;
        }
        Ok(())
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

/// Checks a factor on disturbed times. An absent factor is 0 and has no meaning without a probability.
fn is_slower(key: &'static str, (probability, value): (f64, f64)) -> Result<(), InvalidMachine> {
    match probability > 0.0 && value < 1.0 {
        true => Err(InvalidMachine::FactorBelowOne { key, value }),
        false => Ok(()),
    }
}

/// An invalid parameter of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum InvalidMachine {
    /// The name cannot be part of the names of files and libraries.
    #[error("`name` must be letters, digits, `-`, `_` and `.`")]
    Name,
    /// A disturbance that shortens times.
    #[error("`{key}` is {value}; a disturbance lengthens times, so it must be at least 1")]
    FactorBelowOne { key: &'static str, value: f64 },
    /// No ranks on a node.
    #[error("`ranks_per_node` is 0; a node has at least one rank")]
    NoRanks,
    /// More ranks on a node than can be numbered.
    #[error("`ranks_per_node` is {ranks}; it must be {RANKS}")]
    TooManyRanks { ranks: u32 },
    /// A number of rails out of range.
    #[error("`rails` is {rails}; it must be from {} to {}", RAILS.start(), RAILS.end())]
    Rails { rails: u32 },
    /// Rails of a port without parameters.
    #[error("`rails` has no meaning without `injection_beta` or `injection_gap`")]
    NothingPassesRails,
    /// Neither level is described.
    #[error("neither `network` nor `node` is given; at least one of them is needed")]
    NoLink,
    /// A parameter is not a number, or outside of its range.
    #[error("`{key}` is {value}; it must be {bounds}")]
    OutOfRange {
        key: &'static str,
        value: f64,
        bounds: &'static Bounds<f64>,
    },
    /// A cost of combining directly from messages that do not go through shared memory.
    #[error(
        "`{key}` has no meaning: data is combined as it arrives only from messages through `shared` memory"
    )]
    GammaOfMpi { key: &'static str },
    /// Lines that are not in ascending order.
    #[error("`{key}` must be in ascending order of `from`")]
    LinesOutOfOrder { key: &'static str },
    /// A part of `alpha` that exceeds it.
    #[error("`{key}` is {value}; it is a part of `alpha` and cannot be more than {alpha}")]
    OverheadAboveAlpha {
        key: &'static str,
        value: f64,
        alpha: f64,
    },
}

impl InvalidMachine {
    /// The invalid key, with that of the object that holds it; empty if several keys are involved.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::NoRanks | Self::TooManyRanks { .. } => "ranks_per_node",
            Self::Rails { .. } | Self::NothingPassesRails => "rails",
            Self::NoLink => "",
            Self::OutOfRange { key, .. }
            | Self::LinesOutOfOrder { key }
            | Self::GammaOfMpi { key }
            | Self::OverheadAboveAlpha { key, .. }
            | Self::FactorBelowOne { key, .. } => key,
        }
    }
}
