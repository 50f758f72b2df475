//! The verdicts that bind decisions.

use campaign::Campaign;
use store::{LaunchRow, Store};
use table::Verdict;
use vocabulary::{Library, Pattern};

use crate::TunerError;

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
