//! Campaigns that are already in a store.

use std::fs;
use std::path::{Path, PathBuf};

use campaign::{Campaign, DefaultsVersion};
use store::{CampaignRow, Store};

use crate::TunerError;
use crate::analysis::stored::campaign_of;
use crate::launch::folder;

/// The end of the name of a file with a campaign's text, beside its launches; the digest is before it.
const CAMPAIGN_FILE: &str = ".campaign.yaml";

/// The file with a campaign's text, beside its launches.
pub(crate) fn campaign_file(launches: &Path, digest: &str) -> PathBuf {
    launches.join(format!("{digest}{CAMPAIGN_FILE}"))
}

/// The digest under which a store has recorded a campaign, or else the campaign's own.
///
/// The recorded digest stays the same, since plans, spools, file names and tables contain it.
pub(crate) fn digest_in(store: &Store, campaign: &Campaign) -> Result<String, TunerError> {
    let digest = campaign.digest();
    let rows = store.campaigns()?;
    if rows.iter().any(|row| row.digest == digest) {
        return Ok(digest);
    }
    let known = rows.iter().rev().find(|row| is_recorded(campaign, row));
    Ok(known.map_or(digest, |row| row.digest.clone()))
}

/// The campaign as its store has recorded it: with the defaults of the version of colltune that began to measure.
/// Unchanged if neither the store nor the folder of its launches has a record, or if they cannot be read.
pub fn as_recorded(campaign: Campaign, store: &Path) -> Campaign {
    // Measuring and analyses report a store that cannot be read.
    let rows = Store::open(store).and_then(|store| store.campaigns());
    let mut rows = rows.unwrap_or_default();
    rows.extend(rows_beside_launches(&folder(&campaign.output.store)));
    let digest = campaign.digest();
    if rows.iter().any(|row| row.digest == digest) {
        return campaign;
    }
    for row in rows.iter().rev() {
        let version = DefaultsVersion::of_digest(&row.digest);
        let earlier = campaign.clone().with_defaults(version);
        if is_recorded(&earlier, row) {
            return earlier;
        }
    }
    campaign
}

/// The campaigns whose texts are beside launches, for stores on other hosts.
fn rows_beside_launches(launches: &Path) -> Vec<CampaignRow> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(launches).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(digest) = name.strip_suffix(CAMPAIGN_FILE) else {
            continue;
        };
        if let Ok(text) = files::read_text(&entry.path()) {
            rows.push(CampaignRow {
                digest: digest.to_owned(),
                name,
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
    is_of_version_1 && matches!(campaign_of(row), Ok(Some(earlier)) if earlier.digest() == digest)
}
