//! How much of a campaign is measured, and whether once more.

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

/// Whether fresh launches confirm what is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// They do: only what they confirm replaces the default.
    #[default]
    On,
    /// The launches that choose have the last word.
    Off,
}
