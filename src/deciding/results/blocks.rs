//! Block sizes of pipelined algorithms, predicted and measured.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use vocabulary::Cell;

use crate::{CellPlace, serialize_place};

/// The best block size of a pipelined algorithm in a cell, predicted and measured.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BlockComparison {
    /// The cell in which it was measured.
    #[serde(flatten, serialize_with = "serialize_place")]
    #[schemars(with = "CellPlace")]
    pub cell: Cell,
    /// The algorithm's full name, with the parameters that do not concern blocks.
    #[serde(flatten, serialize_with = "with_bare_id")]
    #[schemars(with = "Pipelined")]
    pub algorithm: String,
    /// The best block by the pipelining lemma; null if the machine's parameters are unknown or the algorithm has no
    /// closed form.
    pub predicted: Option<BlockPoint>,
    /// The fastest of the measured blocks.
    pub measured: BlockPoint,
    /// The measured block nearest to the predicted one (by ratio); its time shows what following the prediction would
    /// have cost.
    pub measured_near_prediction: Option<BlockPoint>,
    /// All measured block sizes, by ascending size.
    #[serde(skip)]
    pub points: Vec<BlockPoint>,
    /// The predicted time of each of `points`, in seconds.
    #[serde(skip)]
    pub predicted_of_points: Vec<Option<f64>>,
}

impl BlockComparison {
    /// The time measured with the predicted block, rounded to a power of two; `None` if no such block was measured.
    pub fn seconds_at_predicted(&self) -> Option<f64> {
        let (predicted, near) = (self.predicted?, self.measured_near_prediction?);
        let ratio = near.block_bytes as f64 / predicted.block_bytes.max(1) as f64;
        let rounded = (std::f64::consts::FRAC_1_SQRT_2..=std::f64::consts::SQRT_2).contains(&ratio);
        (rounded || near.blocks == predicted.blocks).then_some(near.seconds)
    }
}

/// A block size with its time.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BlockPoint {
    /// Size of a block as in the candidate's name, or else that of the largest block.
    pub block_bytes: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Time of the collective.
    pub seconds: f64,
}

/// The names of a pipelined algorithm.
#[derive(JsonSchema, Serialize)]
struct Pipelined {
    /// Bare id, as in `dual_root`.
    algorithm: String,
    /// Full name, with the parameters that do not concern blocks.
    candidate: String,
}

/// Serializes the bare id beside the full name: `dual_root` beside `allreduce/dual_root[...]`.
fn with_bare_id<S: Serializer>(name: &str, to: S) -> Result<S::Ok, S::Error> {
    let full = name.split('[').next().unwrap_or(name);
    let parts = Pipelined {
        algorithm: full.split_once('/').map_or(full, |(_, id)| id).to_owned(),
        candidate: name.to_owned(),
    };
    parts.serialize(to)
}
