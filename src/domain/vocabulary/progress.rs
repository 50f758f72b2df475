//! The progress of measuring.

use serde::{Deserialize, Serialize};

/// The progress of a campaign, in measurements of one subject in one launch.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignProgress {
    /// Measurements in the store, each of one cell or experiment in one launch.
    pub done: u64,
    /// Measurements that the campaign needs in all; an estimate for a guided campaign.
    pub total: u64,
}
