//! Sizes at which the machine's parameters do not reproduce the times that they were fitted to.

use std::fmt;

use model::Level;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use vocabulary::units::format_bytes;
use vocabulary::{Datatype, Operator};

/// The operation that an experiment times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timed {
    /// A message between two ranks at this level.
    Message(Level),
    /// Combining two vectors.
    Combine(Datatype, Operator),
    /// Copying a vector.
    Copy,
}

impl fmt::Display for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(level) => write!(f, "{}.message", level.name()),
            Self::Combine(datatype, operator) => {
                write!(f, "combine.{}.{}", datatype.name(), operator.name())
            }
            Self::Copy => f.write_str("copy"),
        }
    }
}

impl Serialize for Timed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// A range of sizes at which the machine's parameters do not hold: at the measured size in it, an experiment took over
/// 30 % longer or shorter than they predict.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PoorPrediction {
    /// The timed operation, as in `node.message`, `combine.float64.sum` or `copy`.
    #[schemars(with = "String")]
    pub experiment: Timed,
    /// The size that was measured.
    pub bytes: u64,
    /// The first size of the range, which holds the sizes nearer (by ratio) to this measured size than to any other.
    pub from_bytes: u64,
    /// The end of the range, exclusive.
    pub below_bytes: u64,
    /// The median absolute relative error of the predictions over launches.
    pub residual: f64,
}

impl PoorPrediction {
    /// The largest residual at which the parameters are considered to hold.
    pub const LARGE: f64 = 0.3;

    /// Whether the range is that of this operation and includes this size.
    pub fn is_about(&self, what: Timed, bytes: u64) -> bool {
        self.experiment == what && (self.from_bytes..self.below_bytes).contains(&bytes)
    }
}

/// A sentence without its full stop.
impl fmt::Display for PoorPrediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: the model is off by {:.0} % at {}, so searches do not rely on it there and measure instead",
            self.experiment,
            self.residual * 100.0,
            format_bytes(self.bytes)
        )
    }
}
