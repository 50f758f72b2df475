//! Measured times beside those that the model expects.

use vocabulary::{Candidate, CommShape};

/// One algorithm's times in one shape, measured and expected.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCurve {
    /// Which, with its parameters but for the blocks.
    pub algorithm: String,
    /// Where.
    pub shape: CommShape,
    /// By ascending size.
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

impl Expected {
    /// The measured time divided by the expected one.
    pub fn ratio(&self) -> f64 {
        self.measured_seconds / self.expected_seconds
    }
}
