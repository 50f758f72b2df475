//! Measured times beside those that the model expects.

use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::{Candidate, CommShape};

/// One algorithm's times in one shape, measured and expected.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCurve {
    /// Which, with its parameters but for the blocks.
    pub algorithm: String,
    /// Where.
    pub shape: CommShape,
    /// The points by ascending size.
    pub points: Vec<Expected>,
}

/// A measured time beside the expected one.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Length of the call, as in [`vocabulary::Cell::bytes`].
    pub bytes: u64,
    /// The fastest member of the algorithm.
    pub candidate: Candidate,
    /// Its median time.
    pub measured_seconds: f64,
    /// What the model says.
    pub expected_seconds: f64,
}

/// Beyond this factor, either way, a prediction is called wrong.
const WRONG: f64 = 1.3;

impl Expected {
    /// The measured time divided by the expected one.
    pub fn ratio(&self) -> f64 {
        self.measured_seconds / self.expected_seconds
    }

    /// Whether the model is off by more than 30 %.
    pub fn is_wrong(&self) -> bool {
        Self::is_off(self.ratio().ln())
    }

    /// The same of the logarithm of the ratio.
    pub fn is_off(logarithm: f64) -> bool {
        logarithm.is_nan() || logarithm.abs() > WRONG.ln()
    }
}

/// The parameters that predictions follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// One `alpha` and `beta` a level, from experiments, as up to version 0.1.
    OneLine,
    /// Lines by size for messages, combinations and copies, from experiments.
    Lines,
    /// Also what exchanges, shifts and fans cost.
    Patterns,
    /// Also what the times of collectives tell, with all parameters fitted at once; these are used.
    Calibrated,
}

impl ModelKind {
    /// The words for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneLine => "one line a level",
            Self::Lines => "lines by size",
            Self::Patterns => "lines and patterns",
            Self::Calibrated => "lines and patterns, calibrated",
        }
    }
}

/// How often predictions are wrong by more than 30 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(into = "ScoreParts")]
#[schemars(with = "ScoreParts")]
pub struct ModelScore {
    /// The parameters.
    pub model: ModelKind,
    /// How many predictions there are.
    pub points: usize,
    /// How many are wrong.
    pub wrong: usize,
    /// Sizes between the smallest and the largest: each is predicted once with the parameters of the
    /// sizes that are left when every second of these is held out.
    pub points_held_out: usize,
    /// How many of these predictions are wrong.
    pub wrong_held_out: usize,
}

impl ModelScore {
    /// The share that is wrong.
    pub fn share(&self) -> f64 {
        self.wrong as f64 / self.points.max(1) as f64
    }

    /// The same where sizes are held out.
    pub fn share_held_out(&self) -> f64 {
        self.wrong_held_out as f64 / self.points_held_out.max(1) as f64
    }
}

/// How often the predictions of a model are wrong.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ModelScore")]
struct ScoreParts {
    /// The parameters that the predictions follow from; those that are used come last.
    model: ModelKind,
    /// The number of predictions.
    points: usize,
    /// Predictions that are off by more than 30 %.
    wrong: usize,
    /// Their share of all predictions.
    wrong_share: f64,
    /// Predictions at sizes that were held out from the fit.
    points_held_out: usize,
    /// Held-out predictions that are off by more than 30 %.
    wrong_held_out: usize,
    /// Their share.
    wrong_held_out_share: f64,
}

impl From<ModelScore> for ScoreParts {
    fn from(score: ModelScore) -> Self {
        Self {
            model: score.model,
            points: score.points,
            wrong: score.wrong,
            wrong_share: score.share(),
            points_held_out: score.points_held_out,
            wrong_held_out: score.wrong_held_out,
            wrong_held_out_share: score.share_held_out(),
        }
    }
}
