//! The record of an import, kept in the store in place of a campaign.

use std::path::Path;

use serde::{Deserialize, Serialize};
use store::CampaignRow;

use crate::{ImportFormat, ImportOptions};

/// The source of imported samples, as JSON with the key `import`, which no campaign has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportRecord {
    import: Details,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Details {
    file: String,
    format: ImportFormat,
    materiality: f64,
}

impl ImportRecord {
    pub(crate) fn new(file: &Path, options: &ImportOptions) -> Self {
        Self {
            import: Details {
                file: file.display().to_string(),
                format: options.format,
                materiality: options.materiality,
            },
        }
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// Reads a store's record of an import; `None` for a campaign.
    pub fn from_campaign_row(row: &CampaignRow) -> Option<Self> {
        serde_json::from_str(&row.text).ok()
    }

    /// The smallest gain over the default, as a share, for which a candidate replaces it.
    pub fn materiality(&self) -> f64 {
        self.import.materiality
    }
}
