//! What a store remembers of an import, in the place of a campaign.

use std::path::Path;

use serde::{Deserialize, Serialize};
use store::CampaignRow;

use crate::{ImportFormat, ImportOptions};

/// Where imported samples are from, as JSON: no campaign has the key `import`.
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

    /// What a store has kept; `None` of a campaign.
    pub fn of(row: &CampaignRow) -> Option<Self> {
        serde_json::from_str(&row.text).ok()
    }

    /// How much faster than the default a candidate must be to replace it, as a share.
    pub fn materiality(&self) -> f64 {
        self.import.materiality
    }
}
