//! The verdicts that bind decisions, and the tables that are made from them.

use std::path::Path;

use campaign::Campaign;
use store::{LaunchRow, Store};
use table::{Table, Verdict};
use vocabulary::{Library, Pattern};

use crate::{CampaignAnalysis, TunerError};

/// The verdicts about a library that bind decisions in one pattern of calls, from the store and from `of_file`. Only
/// verdicts under the campaign's conditions bind, or all if there is no campaign, as with imported measurements.
///
/// A verdict made without the store gets the number of the newest launch that had begun by its time.
pub(crate) fn binding(
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
    let conditions = campaign.map(Campaign::conditions);
    verdicts.retain(|verdict| {
        let is_same = |conditions: &String| *conditions == verdict.conditions;
        verdict.library == *library
            && verdict.pattern == pattern
            && conditions.as_ref().is_none_or(is_same)
    });
    Ok(verdicts)
}

/// The verdicts of a table's file that the table keeps when it is made again from a store: those that no newer launches
/// overrule, `standing`, and those about another library or pattern of calls, which say nothing about its rules.
pub(crate) fn kept_in_file(
    of_file: Vec<Verdict>,
    standing: &[Verdict],
    library: &Library,
    pattern: Pattern,
) -> Vec<Verdict> {
    let mut kept = of_file;
    kept.retain(|verdict| {
        let is_of_others = verdict.library != *library || verdict.pattern != pattern;
        is_of_others || standing.iter().any(|other| other.is_same(verdict))
    });
    kept
}

/// Adds the verdicts of a table's store to the table, in memory, and marks the rules that they refute
/// ([`Table::mark_refuted`]). Verdicts that newer launches overrule do not count, nor do those made under other
/// conditions than those of the table's campaign. Returns whether they change what is in force.
///
/// Nothing is added if the store is not here, belongs to another user, or does not have the table's campaign.
///
/// # Errors
/// A store that cannot be read or analysed.
pub fn add_stored_verdicts(table: &mut Table, path: &Path) -> Result<bool, TunerError> {
    // A store that another user may have written says nothing about this user's table.
    let is_own = matches!(files::not_own(path), Ok(None));
    if !path.exists() || !is_own {
        return Ok(false);
    }
    let store = Store::open(path)?;
    let library = &table.provenance.library;
    let campaigns = store.campaigns()?;
    let digest = &table.provenance.campaign;
    let row = campaigns.iter().find(|row| row.digest == *digest);
    let Some(row) = row else {
        return Ok(false);
    };
    // Whether newer launches overrule verdicts takes an analysis, which few tables need: most stores have no verdict that
    // changes what is in force.
    if with_verdicts(table, store.verdicts(library)?).collectives == table.collectives {
        return Ok(false);
    }
    // Records of imports are not campaigns.
    let campaign = Campaign::parse_stored(&row.text, &row.digest).ok();
    let analysis = CampaignAnalysis::of(&store, Some(library), campaign.as_ref())?;
    let judged = with_verdicts(table, analysis.standing);
    if judged.collectives == table.collectives {
        return Ok(false);
    }
    *table = judged;
    Ok(true)
}

/// The table with the verdicts of its store that it does not have.
fn with_verdicts(table: &Table, mut stored: Vec<Verdict>) -> Table {
    let mut judged = table.clone();
    stored.retain(|verdict| !table.verdicts.iter().any(|known| known.is_same(verdict)));
    judged.add_verdicts(stored);
    judged
}
