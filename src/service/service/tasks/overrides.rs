//! Applies overrides to a campaign.

use std::path::Path;

use campaign::{Campaign, CampaignError};
use serde_json::json;
use strict_yaml::{Document, Kind};

use crate::{Overrides, ServiceError};

/// The document kind of campaigns, for error messages.
const CAMPAIGN: Kind = Kind {
    name: "a campaign",
    start: "begin with `name: ...`",
    reference: None,
};

/// The longest value, in characters.
const MOST_CHARACTERS: usize = 1000;
/// The most collectives, or node counts.
const MOST_ENTRIES: usize = 100;

/// Reads a campaign from its text and path.
pub(crate) type CampaignReader = fn(&str, &Path) -> Result<Campaign, CampaignError>;

/// Applies overrides to a campaign. Returns the changed campaign, which `read` reads, and its text.
///
/// # Errors
/// [`ServiceError::Invalid`], also of an override that makes the campaign invalid.
pub(crate) fn apply_overrides(
    overrides: &Overrides,
    campaign: &Campaign,
    path: &str,
    read: CampaignReader,
) -> Result<(Campaign, String), ServiceError> {
    check_limits(overrides)?;
    let mut values = Vec::new();
    if let Some(budget) = &overrides.budget {
        values.push(("budget", json!(budget).to_string()));
    }
    if let Some(sizes) = &overrides.sizes {
        let sizes: Vec<&str> = sizes.split(',').map(str::trim).collect();
        values.push(("sizes", json!(sizes).to_string()));
    }
    if let Some(collectives) = &overrides.collectives {
        values.push(("collectives", json!(collectives).to_string()));
    }
    if let Some(nodes) = &overrides.nodes {
        let shapes = campaign.shapes.iter();
        let shapes = shapes.filter(|shape| nodes.contains(&shape.nodes));
        let shapes: Vec<String> = shapes.map(ToString::to_string).collect();
        if shapes.is_empty() {
            let all: Vec<String> = campaign.shapes.iter().map(ToString::to_string).collect();
            let problem = format!(
                "the campaign has no shape with these numbers of nodes; it has {}",
                all.join(", ")
            );
            return Err(ServiceError::invalid("overrides.nodes", problem));
        }
        values.push(("shapes", json!(shapes).to_string()));
    }
    with_keys(campaign.text(), path, &values, read).map_err(name_override)
}

fn check_limits(overrides: &Overrides) -> Result<(), ServiceError> {
    let collectives = overrides.collectives.iter().flatten();
    let mut texts = collectives.chain(&overrides.budget).chain(&overrides.sizes);
    let lists = [
        overrides.collectives.as_ref().map(Vec::len),
        overrides.nodes.as_ref().map(Vec::len),
    ];
    let problem = if texts.any(|text| text.chars().count() > MOST_CHARACTERS) {
        format!("a value has more than {MOST_CHARACTERS} characters")
    } else if lists
        .into_iter()
        .flatten()
        .any(|entries| entries > MOST_ENTRIES)
    {
        format!("a list has more than {MOST_ENTRIES} entries")
    } else {
        return Ok(());
    };
    Err(ServiceError::invalid("overrides", problem))
}

/// Names the override that is wrong, in place of a line of the changed text, which is in no file.
fn name_override(error: ServiceError) -> ServiceError {
    match error {
        ServiceError::Campaign(CampaignError::Invalid(found)) => {
            let (field, message, help) = (found.field.to_string(), &found.message, &found.help);
            let key = field.split(['.', '[']).next().unwrap_or_default();
            let problem = format!("`{key}` (`remote submit --{key}`): {message}; {help}");
            ServiceError::invalid("overrides", problem)
        }
        other => other,
    }
}

/// Returns a campaign's text with other paths of results.
pub(crate) fn with_outputs(
    text: &str,
    path: &str,
    store: &Path,
    table: &Path,
    report: &Path,
) -> Result<String, ServiceError> {
    // Campaigns can name UTF-8 paths only.
    let [store, table, report] =
        [store, table, report].map(|output_path| output_path.to_string_lossy());
    let output = json!({"store": store, "table": table, "report": report}).to_string();
    Ok(with_keys(text, path, &[("output", output)], Campaign::parse)?.1)
}

fn with_keys(
    text: &str,
    path: &str,
    values: &[(&str, String)],
    read: CampaignReader,
) -> Result<(Campaign, String), ServiceError> {
    let named = Path::new(path);
    let document = Document::parse(&CAMPAIGN, named, text).map_err(CampaignError::from)?;
    let changed_text = document.with_keys(values).ok_or_else(|| {
        let problem = format!("{path} is written in braces; write it as `key: value` lines");
        ServiceError::invalid("overrides", problem)
    })?;
    Ok((read(&changed_text, named)?, changed_text))
}
