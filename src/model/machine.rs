//! The parameters of a machine, as its file holds them.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use vocabulary::bounds::{
    BYTE_TIME, Bounds, CAPACITY, FACTOR, JITTER, LATENCY, PROBABILITY, RANKS, SLOWDOWN,
};

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
    /// Between ranks on one node whose messages go through shared memory; absent if none do, or nothing is
    /// known of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Link>,
    /// Seconds per byte of the port that a node's ranks share, of each of its rails; absent if it is not shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection_beta: Option<f64>,
    /// Seconds that a rail of this port is busy with a message besides its bytes, before the next one passes; none if
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection_gap: Option<f64>,
    /// Messages that this port lets pass at once, in either direction; one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rails: Option<u32>,
    /// Which long receives are posted a round ahead; none if absent.
    #[serde(default, skip_serializing_if = "PostAhead::is_none")]
    pub post_ahead: PostAhead,
    /// Seconds per byte combined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Seconds per byte copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<f64>,
    /// What combining costs, by size, in the place of `gamma` where schedules are simulated; empty if it
    /// follows `gamma`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub combining: Vec<Line>,
    /// The same of copying.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copying: Vec<Line>,
    /// What calls cost whose vectors caches do not hold; absent if that makes no difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// Disturbance of simulated times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

/// Which receives are posted a round ahead, where [`vocabulary::is_posted_ahead`] says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PostAhead {
    /// None: each is posted in its own round, as by `MPI_Sendrecv`.
    #[default]
    None,
    /// Those of messages between nodes: others go through shared memory.
    Network,
    /// All, as colltune posts them on MPI.
    All,
}

impl PostAhead {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// How many rails the port of a node may have.
const RAILS: RangeInclusive<u32> = 1..=64;

/// Sizes that follow a line: from `from` bytes on, up to where the next line begins, `n` bytes take
/// `alpha + beta n` seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The first size; the first line holds for smaller ones, too.
    pub from: u64,
    /// Seconds to start.
    pub alpha: f64,
    /// Of a message: the part of `alpha`, in seconds, during which the ports are busy; absent means all
    /// of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<f64>,
    /// Seconds per byte.
    pub beta: f64,
    /// Of a message: how many times as long it takes while its two ranks exchange messages; absent means
    /// no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<f64>,
    /// Of a message: how many times as long it takes if its sender has received or combined data in the
    /// call before, so that what it sends may stand in its own cache, and not in the receiver's. Absent means
    /// no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<f64>,
}

/// The caches that a node's ranks share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// How many bytes of a call's buffers, those of all ranks of a node together, stay in caches.
    pub bytes: f64,
    /// How many times as long a byte takes that does not: where a call has more buffers, that share of
    /// its bytes that is beyond is slower by this factor in messages within a node, in combinations and
    /// in copies.
    pub beyond: f64,
}

/// What a message costs on one level of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// The lines that messages follow, by ascending size, in the place of `alpha`, `overhead` and `beta`
    /// where schedules are simulated; empty if all follow one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
    /// How many times as long a message takes while one of its ranks has another message the other way,
    /// from or to a third rank; absent means as in an exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<f64>,
    /// How many times as long a byte keeps the sender's port busy while it has several messages to send;
    /// absent means no longer. Below 1 messages share time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<f64>,
    /// The same of a receiver's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan_in: Option<f64>,
    /// Seconds per byte combined straight out of a message, of messages through shared memory alone; absent
    /// means as from any other memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
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

impl Machine {
    /// The link of a level, if known.
    pub fn link(&self, level: Level) -> Option<&Link> {
        match level {
            Level::Node => self.node.as_ref(),
            Level::Network => self.network.as_ref(),
            Level::Shared => self.shared.as_ref(),
        }
    }

    /// The machine as it is for candidates whose messages within nodes go through shared memory: these take the
    /// place of others. `None` if nothing is known of them.
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

    /// `keys` are what a file calls `alpha`, `overhead`, `beta`, `lines`, and the link itself.
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
    /// None, or more than a node has.
    #[error("`rails` is {rails}; it must be from {} to {}", RAILS.start(), RAILS.end())]
    Rails {
        /// Its value.
        rails: u32,
    },
    /// Rails of a port that nothing is known of.
    #[error("`rails` has no meaning without `injection_beta` or `injection_gap`")]
    NothingPassesRails,
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
    /// Combining straight out of messages through MPI.
    #[error(
        "`{key}` has no meaning: only out of messages through `shared` memory data is combined as it arrives"
    )]
    GammaOfMpi {
        /// The key, with that of the object that holds it.
        key: &'static str,
    },
    /// Lines that do not follow each other.
    #[error("`{key}` must be in ascending order of `from`")]
    LinesOutOfOrder {
        /// The key, with that of the object that holds it.
        key: &'static str,
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
