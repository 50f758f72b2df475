//! How much of a campaign is measured.

use serde::Deserialize;

/// How much of a campaign is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// What may change a decision.
    #[default]
    Guided,
    /// Every candidate in every cell in every launch.
    Exhaustive,
}

impl Strategy {
    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guided => "guided",
            Self::Exhaustive => "exhaustive",
        }
    }
}
