//! The verdicts that decisions must respect.

use campaign::Campaign;
use store::{LaunchRow, Store};
use table::Verdict;
use vocabulary::{Library, Pattern};

use crate::TunerError;

/// The verdicts about a library that bind decisions in one pattern of calls: those in the store and those `of_file`
/// that were given in the campaign's conditions, or in any if the campaign is not known, as for imported
/// measurements.
///
/// A verdict that was given without the store gets the newest launch that had begun by then.
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
