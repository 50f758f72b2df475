//! What a store remembers of an import, in the place of a campaign.

use std::path::Path;

use campaign::{Campaign, CampaignError};
use fit::DecideOptions;
use serde::{Deserialize, Serialize};
use store::CampaignRow;

use super::{Format, ImportOptions};

/// Where imported samples are from, as JSON: no campaign has the key `import`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    import: Details,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Details {
    file: String,
    format: Format,
    materiality: f64,
}

/// What a row of campaigns stands for.
pub(crate) enum Definition {
    /// What was to be measured.
    Campaign(Box<Campaign>),
    /// Where it was imported from.
    Import(Record),
}

impl Record {
    pub(super) fn new(file: &Path, options: &ImportOptions) -> Self {
        Self {
            import: Details {
                file: file.display().to_string(),
                format: options.format,
                materiality: options.materiality,
            },
        }
    }

    pub(super) fn to_text(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// How decisions are made.
    pub(crate) fn decide_options(&self) -> DecideOptions {
        DecideOptions {
            materiality: self.import.materiality,
            ..DecideOptions::default()
        }
    }
}

impl Definition {
    /// Reads what a store has kept.
    ///
    /// # Errors
    /// If it is a campaign written for a colltune that read campaigns in another way.
    pub(crate) fn of(row: &CampaignRow) -> Result<Self, CampaignError> {
        if let Ok(record) = serde_json::from_str(&row.text) {
            return Ok(Self::Import(record));
        }
        let campaign = Campaign::parse_stored(&row.text)?;
        Ok(Self::Campaign(Box::new(campaign)))
    }
}

pub(super) fn is_import(row: &CampaignRow) -> bool {
    serde_json::from_str::<Record>(&row.text).is_ok()
}
