//! The verdicts that bind decisions, and the tables that are made from them.

use std::path::Path;

use campaign::Campaign;
use files::NotOwn;
use import::ImportRecord;
use store::{LaunchRow, Store};
use table::{Table, Verdict};
use vocabulary::{Library, Pattern};

use crate::{CampaignAnalysis, TunerError};

/// The verdicts about a library that bind decisions in one pattern of calls, from the store and from `of_file`. Only
/// verdicts under the campaign's conditions bind, or all if there is no campaign, as with imported measurements.
///
/// A verdict made without the store gets the number of the newest launch that had begun by its time.
pub(crate) fn binding_verdicts(
    store: &Store,
    library: &Library,
    campaign: Option<&Campaign>,
    pattern: Pattern,
    of_file: &[Verdict],
) -> Result<Vec<Verdict>, TunerError> {
    let mut verdicts = store.verdicts(library)?;
    let launches = store.launches()?;
    let newest = |verdict: &Verdict| {
        let had_begun = |launch: &&LaunchRow| {
            u64::try_from(launch.started_unix_seconds).is_ok_and(|at| at <= verdict.unix_seconds)
        };
        let begun = launches.iter().filter(had_begun);
        begun.map(|launch| launch.number).max().unwrap_or(0)
    };
    verdicts.extend(of_file.iter().map(|verdict| Verdict {
        newest_launch: verdict.newest_launch.or_else(|| Some(newest(verdict))),
        ..verdict.clone()
    }));
    let conditions = campaign.map(Campaign::conditions_digest);
    verdicts.retain(|verdict| {
        let is_same = |digest: &String| *digest == verdict.conditions;
        verdict.library == *library
            && verdict.pattern == pattern
            && conditions.as_ref().is_none_or(is_same)
    });
    Ok(verdicts)
}

/// The verdicts of a table's file that the table keeps when it is made again from a store: all but those that newer
/// launches overrule, which bind but are not `standing`.
pub(crate) fn verdicts_kept_in_file(
    of_file: Vec<Verdict>,
    binding: &[Verdict],
    standing: &[Verdict],
) -> Vec<Verdict> {
    let is_among = |verdict: &Verdict, all: &[Verdict]| all.iter().any(|v| v.is_same(verdict));
    let mut kept = of_file;
    kept.retain(|verdict| !is_among(verdict, binding) || is_among(verdict, standing));
    kept
}

/// What the verdicts in a table's store say about the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredVerdicts {
    /// They do not change which rules are in force, or there is no store with the table's campaign.
    Nothing,
    /// They change which rules are in force.
    Count,
    /// They do not count, as the store belongs to another user.
    OfAnother,
}

/// Adds the verdicts of a table's store to the table, in memory, and marks the rules that they refute
/// ([`Table::mark_refuted`]). Verdicts that newer launches overrule do not count, nor do those made under other
/// conditions than those of the table's campaign, nor those in a store that another user owns.
///
/// # Errors
/// A store that cannot be read or analysed.
pub fn add_stored_verdicts(table: &mut Table, path: &Path) -> Result<StoredVerdicts, TunerError> {
    if !path.exists() {
        return Ok(StoredVerdicts::Nothing);
    }
    // Colleagues who may write to the store may also judge the table.
    if !matches!(
        files::not_own(path),
        Ok(None | Some(NotOwn::WritableFile | NotOwn::WritableFolder))
    ) {
        return Ok(StoredVerdicts::OfAnother);
    }
    let store = Store::open(path)?;
    let library = &table.provenance.library;
    let campaigns = store.campaigns()?;
    let digest = &table.provenance.campaign;
    let Some(row) = campaigns.iter().find(|row| row.digest == *digest) else {
        return Ok(StoredVerdicts::Nothing);
    };
    let campaign = if ImportRecord::from_campaign_row(row).is_some() {
        None
    } else {
        Some(Campaign::parse_stored(&row.text, &row.digest)?)
    };
    // Whether newer launches overrule verdicts takes an analysis, which few tables need: most stores have no verdict that
    // changes what is in force.
    let pattern = table.provenance.pattern;
    let stored = binding_verdicts(&store, library, campaign.as_ref(), pattern, &[])?;
    if table_with_verdicts(table, stored).collectives == table.collectives {
        return Ok(StoredVerdicts::Nothing);
    }
    let analysis = CampaignAnalysis::from_store(&store, Some(library), campaign.as_ref())?;
    let judged = table_with_verdicts(table, analysis.standing);
    if judged.collectives == table.collectives {
        return Ok(StoredVerdicts::Nothing);
    }
    *table = judged;
    Ok(StoredVerdicts::Count)
}

/// The table with the verdicts of its store that it does not have.
fn table_with_verdicts(table: &Table, mut stored: Vec<Verdict>) -> Table {
    let mut judged = table.clone();
    stored.retain(|verdict| !table.verdicts.iter().any(|known| known.is_same(verdict)));
    judged.verdicts.extend(stored);
    judged.mark_refuted();
    judged
}
