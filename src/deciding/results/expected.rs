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

/// The accuracy of a model's predictions.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ModelScore {
    /// The parameters that the predictions are made from; the parameters in use come last.
    pub model: ModelKind,
    /// The number of predictions.
    pub points: usize,
    /// Predictions that are off by more than 30 %.
    pub wrong: usize,
    /// Their share of all predictions.
    pub wrong_share: f64,
    /// Predictions at held-out sizes: each size between the smallest and the largest is predicted once, from a fit that
    /// leaves out every second of them.
    pub points_held_out: usize,
    /// Held-out predictions that are off by more than 30 %.
    pub wrong_held_out: usize,
    /// Their share.
    pub wrong_held_out_share: f64,
}

impl ModelScore {
    /// The accuracy with these numbers of wrong predictions and of all predictions, at all sizes and at held-out ones.
    pub fn new(
        model: ModelKind,
        [wrong, points]: [usize; 2],
        [wrong_held_out, points_held_out]: [usize; 2],
    ) -> Self {
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        Self {
            model,
            points,
            wrong,
            wrong_share: share(wrong, points),
            points_held_out,
            wrong_held_out,
            wrong_held_out_share: share(wrong_held_out, points_held_out),
        }
    }
}
