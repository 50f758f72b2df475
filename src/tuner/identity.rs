//! The digest of a campaign in a store.

use campaign::Campaign;
use store::{CampaignRow, Store};

use crate::TunerError;
use crate::analysis::stored::campaign_of;

/// The digest under which a store has recorded a campaign, or else the campaign's own.
///
/// The recorded digest stays the same, since plans, spools, file names and tables contain it. A digest of an older
/// version than that of [`Campaign::digest`] is found by comparing the recorded text of each campaign with this one.
pub(crate) fn digest_in(store: &Store, campaign: &Campaign) -> Result<String, TunerError> {
    let digest = campaign.digest();
    let mut rows = store.campaigns()?;
    if rows.iter().any(|row| row.digest == digest) {
        return Ok(digest);
    }
    rows.retain(|row| !Campaign::is_current_digest(&row.digest));
    // A recorded campaign that can no longer be read is not the same.
    let asks_for_the_same = |row: &&CampaignRow| matches!(campaign_of(row), Ok(Some(earlier)) if earlier.digest() == digest);
    let known = rows.iter().rev().find(asks_for_the_same);
    Ok(known.map_or(digest, |row| row.digest.clone()))
}
