//! Sizes at which the machine's parameters do not reproduce the times that they were fitted to.

use std::fmt;

use model::Level;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use vocabulary::units::format_bytes;
use vocabulary::{Datatype, Operator};

/// What an experiment takes the time of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timed {
    /// A message of two ranks of one node, or of two nodes.
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

/// Sizes at which the machine's parameters do not hold: at the measured size among them, an experiment took over
/// 30 % longer or shorter than the parameters say.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Misfit {
    /// What was measured, as in `node.message`, `combine.float64.sum` or `copy`.
    #[schemars(with = "String")]
    pub experiment: Timed,
    /// The size that was measured.
    pub bytes: u64,
    /// The smallest of the sizes that are nearer to it than to other measured ones, by their ratio.
    pub from_bytes: u64,
    /// The size after the largest of these.
    pub below_bytes: u64,
    /// The median absolute relative error of what the parameters say, over launches.
    pub residual: f64,
}

impl Misfit {
    /// The largest residual at which the parameters are taken to hold.
    pub const LARGE: f64 = 0.3;

    /// Whether the parameters do not hold for this, of this size.
    pub fn concerns(&self, what: Timed, bytes: u64) -> bool {
        self.experiment == what && (self.from_bytes..self.below_bytes).contains(&bytes)
    }
}

/// A sentence without its full stop.
impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: the model does not hold at {}: it is off by {:.0} % from what was measured, so that searches measure there",
            self.experiment,
            format_bytes(self.bytes),
            self.residual * 100.0
        )
    }
}
