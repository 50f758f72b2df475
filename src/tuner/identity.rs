//! The digest by which a store knows a campaign.

use campaign::Campaign;
use store::{CampaignRow, Store};

use crate::TunerError;
use crate::analysis::stored::campaign_of;

/// The digest under which a store has recorded a campaign, or else the campaign's own.
///
/// It stays what it was when the store met the campaign first, since it stands in plans, spools, names of
/// files and tables. One of an older version than [`Campaign::digest`] gives is found by the campaign's text,
/// which the store has kept: it is that of the campaign that asks for the same.
pub(crate) fn digest_in(store: &Store, campaign: &Campaign) -> Result<String, TunerError> {
    let digest = campaign.digest();
    let mut rows = store.campaigns()?;
    if rows.iter().any(|row| row.digest == digest) {
        return Ok(digest);
    }
    rows.retain(|row| !Campaign::is_current_digest(&row.digest));
    // Nothing is known to be the same as what cannot be read any more.
    let asks_for_the_same = |row: &&CampaignRow| matches!(campaign_of(row), Ok(Some(earlier)) if earlier.digest() == digest);
    let known = rows.iter().rev().find(asks_for_the_same);
    Ok(known.map_or(digest, |row| row.digest.clone()))
}
