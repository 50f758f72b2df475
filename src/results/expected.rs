//! Measured times beside the times that the model predicts.

use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::{Candidate, CommShape};

/// One algorithm's times in one shape, measured and predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCurve {
    /// The algorithm's name with its parameters, except block sizes.
    pub algorithm: String,
    /// The communicator's shape.
    pub shape: CommShape,
    /// The points by ascending size.
    pub points: Vec<Expected>,
}

/// A measured time beside the predicted one.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Length of the call, as in [`vocabulary::Cell::bytes`].
    pub bytes: u64,
    /// The algorithm's fastest candidate.
    pub candidate: Candidate,
    /// Its median time.
    pub measured_seconds: f64,
    /// The time that the model predicts for it.
    pub expected_seconds: f64,
}

/// The factor, in either direction, beyond which a prediction counts as wrong.
const WRONG: f64 = 1.3;

impl Expected {
    /// The measured time divided by the predicted one.
    pub fn ratio(&self) -> f64 {
        self.measured_seconds / self.expected_seconds
    }

    /// Whether the model is off by more than 30 %.
    pub fn is_wrong(&self) -> bool {
        Self::is_off(self.ratio().ln())
    }

    /// Whether a ratio with this natural logarithm is off by more than 30 %.
    pub fn is_off(logarithm: f64) -> bool {
        logarithm.is_nan() || logarithm.abs() > WRONG.ln()
    }
}

/// The parameters that predictions are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// One `alpha` and `beta` per level, from experiments, as in version 0.1.
    OneLine,
    /// Lines by size for messages, combinations and copies, from experiments.
    Lines,
    /// Also the costs of exchanges, shifts and fans.
    Patterns,
    /// Also fitted to the times of collectives, all parameters at once; the parameters in use.
    Calibrated,
}

impl ModelKind {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneLine => "one line per level",
            Self::Lines => "lines by size",
            Self::Patterns => "lines and patterns",
            Self::Calibrated => "lines and patterns, calibrated",
        }
    }
}

/// The number of predictions that are off by more than 30 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(into = "ScoreParts")]
#[schemars(with = "ScoreParts")]
pub struct ModelScore {
    /// The parameters.
    pub model: ModelKind,
    /// The number of predictions.
    pub points: usize,
    /// The number of wrong predictions.
    pub wrong: usize,
    /// Predictions at held-out sizes: each size between the smallest and the largest is predicted once, from a fit that
    /// leaves out every second of them.
    pub points_held_out: usize,
    /// The number of wrong predictions among these.
    pub wrong_held_out: usize,
}

impl ModelScore {
    /// The share of predictions that are wrong.
    pub fn share(&self) -> f64 {
        self.wrong as f64 / self.points.max(1) as f64
    }

    /// The share of predictions at held-out sizes that are wrong.
    pub fn share_held_out(&self) -> f64 {
        self.wrong_held_out as f64 / self.points_held_out.max(1) as f64
    }
}

/// The accuracy of a model's predictions.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ModelScore")]
struct ScoreParts {
    /// The parameters that the predictions are made from; the parameters in use come last.
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
