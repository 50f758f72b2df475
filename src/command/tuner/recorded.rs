//! Campaigns that are already in a store.

use std::fs;
use std::path::{Path, PathBuf};

use campaign::{Campaign, DefaultsVersion};
use store::{CampaignRow, Store, StoreError};

use crate::TunerError;
use crate::analysis::stored::parse_campaign_row;
use crate::launch::launches_folder;

/// The end of the name of a file with a campaign's text, beside its launches; the digest is before it.
const CAMPAIGN_FILE: &str = ".campaign.yaml";

/// The file with a campaign's text, beside its launches.
pub(crate) fn campaign_file(launches: &Path, digest: &str) -> PathBuf {
    launches.join(format!("{digest}{CAMPAIGN_FILE}"))
}

/// The digest under which a store has recorded a campaign, or else the campaign's own.
///
/// The recorded digest stays the same, since plans, spools, file names and tables contain it.
pub(crate) fn recorded_digest(store: &Store, campaign: &Campaign) -> Result<String, TunerError> {
    let digest = campaign.digest();
    let rows = store.campaigns()?;
    if rows.iter().any(|row| row.digest == digest) {
        return Ok(digest);
    }
    let known = rows.iter().rev().find(|row| is_recorded(campaign, row));
    Ok(known.map_or(digest, |row| row.digest.clone()))
}

/// The campaign with the defaults of the version of colltune that began to measure it: those of the record of this
/// campaign, or else of the latest one of the same name, which may have had another budget. Unchanged if neither the store
/// nor the folder of its launches has such a record.
///
/// # Errors
/// A store that exists and cannot be read.
pub fn with_recorded_defaults(campaign: Campaign, store: &Path) -> Result<Campaign, StoreError> {
    let mut rows = match Store::open(store) {
        Ok(store) => store.campaigns()?,
        Err(StoreError::Absent { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    rows.extend(rows_beside_launches(&launches_folder(
        &campaign.output.store,
    )));
    let digest = campaign.digest();
    if rows.iter().any(|row| row.digest == digest) {
        return Ok(campaign);
    }
    for row in rows.iter().rev() {
        let version = DefaultsVersion::of_digest(&row.digest);
        let earlier = campaign.clone().with_defaults(version);
        if is_recorded(&earlier, row) {
            return Ok(earlier);
        }
    }
    let mut latest = rows.iter().rev();
    let namesake = latest.find(|row| row.name == campaign.name);
    Ok(match namesake {
        Some(row) => campaign.with_defaults(DefaultsVersion::of_digest(&row.digest)),
        None => campaign,
    })
}

/// The campaigns whose texts are beside launches, for stores on other hosts.
fn rows_beside_launches(launches: &Path) -> Vec<CampaignRow> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(launches).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some(digest) = file.strip_suffix(CAMPAIGN_FILE) else {
            continue;
        };
        // A file that cannot be read any more is no record.
        let Ok(text) = files::read_text(&entry.path()) else {
            continue;
        };
        if let Ok(campaign) = Campaign::parse_stored(&text, digest) {
            rows.push(CampaignRow {
                digest: digest.to_owned(),
                name: campaign.name,
                text,
            });
        }
    }
    rows
}

/// Whether a row records this campaign, with the same defaults. The digest of the row may be of a version before that of
/// the defaults, which had other digests.
fn is_recorded(campaign: &Campaign, row: &CampaignRow) -> bool {
    let digest = campaign.digest();
    if row.digest == digest {
        return true;
    }
    // A recorded campaign that can no longer be read is not the same.
    let is_of_version_1 = !row.digest.contains('-');
    is_of_version_1
        && matches!(parse_campaign_row(row), Ok(Some(earlier)) if earlier.digest() == digest)
}
