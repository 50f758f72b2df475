//! The ranges of a machine's parameters.

use std::ops::RangeInclusive;

use thiserror::Error;
use vocabulary::bounds::{
    BYTE_TIME, Bounds, CAPACITY, FACTOR, JITTER, LATENCY, PROBABILITY, RANKS, SLOWDOWN,
};

use crate::machine::{Line, Link, Machine, Noise};

/// The valid numbers of rails of a node's port.
const RAILS: RangeInclusive<u32> = 1..=64;

impl Machine {
    /// Checks that every parameter is in its range; for machines that come from a file.
    ///
    /// # Errors
    /// The first parameter out of range, with its value.
    pub fn validate(&self) -> Result<(), InvalidMachine> {
        if self.name.is_empty() || !self.name.chars().all(is_plain) {
            return Err(InvalidMachine::Name);
        }
        match self.ranks_per_node {
            0 => return Err(InvalidMachine::NoRanks),
            ranks if !RANKS.contains(ranks) => return Err(InvalidMachine::TooManyRanks { ranks }),
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
            check_in_range(key, value.unwrap_or(0.0), &BYTE_TIME)?;
        }
        check_in_range("injection_gap", self.injection_gap.unwrap_or(0.0), &LATENCY)?;
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
            check_in_range("shared.gamma", gamma, &BYTE_TIME)?;
        }
        for (key, link) in [("network.gamma", &self.network), ("node.gamma", &self.node)] {
            if link.as_ref().is_some_and(|link| link.gamma.is_some()) {
                return Err(InvalidMachine::GammaOfMpi { key });
            }
        }
        check_lines("combining", &self.combining)?;
        check_lines("copying", &self.copying)?;
        if let Some(cache) = self.cache {
            check_in_range("cache.bytes", cache.bytes, &CAPACITY)?;
            check_in_range("cache.beyond", cache.beyond, &FACTOR)?;
        }
        self.noise.map_or(Ok(()), Noise::validate)
    }
}

/// Whether names of machines may have this character: they are parts of the names of files and libraries.
pub(crate) fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

fn check_in_range(
    key: &'static str,
    value: f64,
    bounds: &'static Bounds<f64>,
) -> Result<(), InvalidMachine> {
    if bounds.contains(value) {
        Ok(())
    } else {
        Err(InvalidMachine::OutOfRange { key, value, bounds })
    }
}

fn check_lines(key: &'static str, lines: &[Line]) -> Result<(), InvalidMachine> {
    if lines.windows(2).any(|pair| pair[0].from >= pair[1].from) {
        return Err(InvalidMachine::LinesOutOfOrder { key });
    }
    for line in lines {
        check_in_range(key, line.alpha, &LATENCY)?;
        check_in_range(key, line.overhead.unwrap_or(0.0), &LATENCY)?;
        check_in_range(key, line.beta, &BYTE_TIME)?;
        for factor in [line.exchange, line.fresh] {
            check_in_range(key, factor.unwrap_or(1.0), &FACTOR)?;
        }
        check_overhead(key, line.overhead.unwrap_or(0.0), line.alpha)?;
    }
    Ok(())
}

fn check_overhead(key: &'static str, value: f64, alpha: f64) -> Result<(), InvalidMachine> {
    if value > alpha {
        Err(InvalidMachine::OverheadAboveAlpha { key, value, alpha })
    } else {
        Ok(())
    }
}

impl Link {
    /// Checks the ranges. `keys` are the names in files of `alpha`, `overhead`, `beta`, `lines`, and the link itself.
    fn validate(&self, keys: [&'static str; 5]) -> Result<(), InvalidMachine> {
        let (alpha, overhead) = (self.alpha, self.overhead_seconds());
        check_in_range(keys[0], alpha, &LATENCY)?;
        check_in_range(keys[1], overhead, &LATENCY)?;
        check_in_range(keys[2], self.beta, &BYTE_TIME)?;
        check_overhead(keys[1], overhead, alpha)?;
        check_lines(keys[3], &self.lines)?;
        for factor in [self.shift, self.fan_out, self.fan_in] {
            check_in_range(keys[4], factor.unwrap_or(1.0), &FACTOR)?;
        }
        Ok(())
    }
}

impl Noise {
    fn validate(self) -> Result<(), InvalidMachine> {
        let spikes = (self.spike_probability, self.spike_factor);
        let launches = (self.slow_launch_probability, self.slow_launch_factor);
        check_in_range("noise.jitter", self.jitter, &JITTER)?;
        check_in_range("noise.spike_probability", spikes.0, &PROBABILITY)?;
        check_in_range("noise.spike_factor", spikes.1, &SLOWDOWN)?;
        check_in_range("noise.slow_launch_probability", launches.0, &PROBABILITY)?;
        check_in_range("noise.slow_launch_factor", launches.1, &SLOWDOWN)?;
        check_slowdown("noise.spike_factor", spikes)?;
        check_slowdown("noise.slow_launch_factor", launches)
    }
}

/// Checks a factor on disturbed times. An absent factor is 0 and has no meaning without a probability.
fn check_slowdown(
    key: &'static str,
    (probability, value): (f64, f64),
) -> Result<(), InvalidMachine> {
    if probability > 0.0 && value < 1.0 {
        Err(InvalidMachine::FactorBelowOne { key, value })
    } else {
        Ok(())
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
