//! Machine parameters, their estimates and whether these are used.

use model::Level;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;
use vocabulary::units::{format_bytes, format_counted, format_seconds};

/// A parameter of the machine, whether or not it could be estimated.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(into = "ParameterParts")]
#[schemars(with = "ParameterParts")]
pub struct ParameterEstimate {
    /// The name, as in `node.alpha`, `network.exchange_bandwidth` or `gamma.float64.sum`.
    pub name: String,
    /// Unit of the value: `s`, `s/byte`, `byte`, or `1` for ratios.
    pub unit: &'static str,
    /// The value; given for information if the status is not [`Status::Identified`].
    pub estimate: Option<Estimate>,
    /// Whether the value is used, or why it is not.
    pub status: Status,
}

/// An estimated value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median over launches of each launch's estimate.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// The probability that such an interval covers the median of all possible launches: 96.9 % from 6 launches, 75 %
    /// from 3. From one launch it is 0, and both ends are the value.
    pub coverage: f64,
    /// Median absolute relative error of the measured points.
    pub residual: f64,
}

/// A parameter of the machine. All keys are always present.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Parameter")]
struct ParameterParts {
    /// The name, as in `node.alpha`, `network.exchange_bandwidth` or `gamma.float64.sum`.
    name: String,
    /// Unit of the value: `s`, `s/byte`, `byte`, or `1` for ratios.
    unit: &'static str,
    /// Whether the value is used.
    identified: bool,
    /// The reason why it is not used; null if it is.
    note: Option<String>,
    /// The value, in `unit`; this and all that follows is null if nothing could be estimated.
    value: Option<f64>,
    /// Lower end of its interval, in `unit`.
    low: Option<f64>,
    /// Upper end of its interval, in `unit`.
    high: Option<f64>,
    /// The probability that such an interval covers the value.
    coverage: Option<f64>,
    /// Median absolute relative error of the measured points.
    residual: Option<f64>,
}

impl From<ParameterEstimate> for ParameterParts {
    fn from(parameter: ParameterEstimate) -> Self {
        let identified = parameter.value().is_some();
        let known = |part: fn(Estimate) -> f64| parameter.estimate.map(part);
        Self {
            identified,
            note: (!identified).then(|| parameter.status.to_string()),
            value: known(|known| known.value),
            low: known(|known| known.low),
            high: known(|known| known.high),
            coverage: known(|known| known.coverage),
            residual: known(|known| known.residual),
            unit: parameter.unit,
            name: parameter.name,
        }
    }
}

/// Whether a parameter's value is used, or the reason why it is not.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Status {
    /// The measurements determine the parameter, and it is used. With a single launch the variability is unknown
    /// (coverage 0), and only the measured sizes and the parameter's share of the time are checked.
    #[error("identified")]
    Identified,
    /// Too few different sizes were measured.
    #[error(
        "not used: {} measured, at least {needed} needed",
        format_counted(sizes, "size")
    )]
    TooFewSizes {
        /// The number of sizes measured.
        sizes: usize,
        /// The number of sizes needed.
        needed: usize,
    },
    /// The search for the best value did not converge.
    #[error("not used: the search for its value did not converge")]
    NotConverged,
    /// The parameter never contributes enough to the time to be seen.
    #[error(
        "not used: it is at most {:.0} % of the time at any measured size; measure sizes where it matters",
        share * 100.0
    )]
    Negligible {
        /// Its largest share of the time at any measured size.
        share: f64,
    },
    /// The interval is too wide.
    #[error("not used: its interval spans a factor of {factor:.1}; measure more launches")]
    Uncertain {
        /// Upper end of the interval divided by the lower.
        factor: f64,
    },
    /// The overhead exceeds the whole start-up time, since a burst takes longer than the same number of messages one by
    /// one.
    #[error(
        "not used: it is more than alpha, {}, of which it is a part",
        format_seconds(*alpha)
    )]
    AboveAlpha {
        /// The start-up time in seconds.
        alpha: f64,
    },
    /// Ranks of a node that send at once are hardly slower than one rank alone, so no shared port can be observed.
    #[error(
        "not used: {ranks} ranks of a node that send at once take {factor:.2} times as long as one, so \
         no shared port can be observed"
    )]
    NotShared {
        /// The number of ranks that sent at once.
        ranks: u32,
        /// The time of a byte, or of a short message, when all send, divided by that of one rank alone.
        factor: f64,
    },
    /// Senders wait for their receivers at all sizes measured.
    #[error("not used: messages of {} already wait for their receiver", format_bytes(*bytes))]
    NoneEager {
        /// The smallest size measured.
        bytes: u64,
    },
    /// Senders do not wait at any size measured.
    #[error("not used: messages of {} still do not wait for their receiver", format_bytes(*bytes))]
    AllEager {
        /// The largest size measured.
        bytes: u64,
    },
    /// Another parameter that it depends on is unknown.
    #[error("not used: {parameter} is not known")]
    Needs {
        /// The other parameter's name.
        parameter: String,
    },
}

impl Status {
    /// The status of a parameter for which no size was measured.
    pub const NO_SIZES: Self = Self::TooFewSizes {
        sizes: 0,
        needed: 1,
    };

    /// The status of a parameter that is derived from a comparison with the level's ping-pongs, if these are unknown.
    pub fn needs_link(level: Level) -> Self {
        Self::Needs {
            parameter: format!("{}.alpha or beta", level.name()),
        }
    }
}

/// The largest ratio of an interval's ends at which the value counts as determined.
const WIDEST: f64 = 4.0;

impl Estimate {
    /// Whether the interval is narrow enough for the value to be used.
    pub fn is_narrow(&self) -> bool {
        self.high / self.low <= WIDEST
    }
}

impl ParameterEstimate {
    /// An estimated value, used unless its interval is too wide.
    pub fn from_estimate(name: String, unit: &'static str, estimate: Estimate) -> Self {
        let status = if estimate.is_narrow() {
            Status::Identified
        } else {
            Status::Uncertain {
                factor: estimate.high / estimate.low,
            }
        };
        Self {
            name,
            unit,
            estimate: Some(estimate),
            status,
        }
    }

    /// A value that could not be estimated.
    pub fn unknown(name: String, unit: &'static str, status: Status) -> Self {
        Self {
            name,
            unit,
            estimate: None,
            status,
        }
    }

    /// The parameter in another unit, with its values multiplied by `factor`.
    pub fn scaled_to_unit(self, factor: f64, unit: &'static str) -> Self {
        let estimate = self.estimate.map(|known| Estimate {
            value: known.value * factor,
            low: known.low * factor,
            high: known.high * factor,
            ..known
        });
        Self {
            unit,
            estimate,
            ..self
        }
    }

    /// The value, if it may be used.
    pub fn value(&self) -> Option<f64> {
        self.usable_estimate().map(|known| known.value)
    }

    /// The estimate, if it may be used.
    pub fn usable_estimate(&self) -> Option<Estimate> {
        self.estimate.filter(|_| self.status == Status::Identified)
    }

    /// The value for use at the measured sizes only, where one that is too small to be observed does no harm.
    pub fn value_at_measured_sizes(&self) -> Option<f64> {
        let is_known = matches!(self.status, Status::Identified | Status::Negligible { .. });
        self.estimate.filter(|_| is_known).map(|known| known.value)
    }
}

/// A range of sizes in which messages follow one line, `alpha + beta n` seconds for `n` bytes.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProtocolSegment {
    /// The level: `node` for ranks of one node, `network` for ranks of two.
    #[schemars(with = "String")]
    pub level: Level,
    /// The smallest size measured in the segment.
    pub from_bytes: u64,
    /// The largest size measured in the segment; the next segment begins between this size and its own smallest one.
    pub to_bytes: u64,
    /// The number of sizes measured in the segment.
    pub sizes: usize,
    /// Start-up time in seconds.
    pub alpha: ParameterEstimate,
    /// Time per byte in seconds.
    pub beta: ParameterEstimate,
    /// Whether the segment ends at the eager limit, above which senders wait for their receivers.
    pub ends_at_eager_limit: bool,
}
