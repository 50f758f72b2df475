//! What measuring tables again has found, and which decisions it binds.

use campaign::Campaign;
use store::{LaunchRow, Store};
use table::Verdict;
use vocabulary::{Library, Pattern};

use crate::TunerError;

/// The verdicts about a library that bind decisions in one pattern of calls: those that the store keeps, and those
/// `of_file`, that were given in the campaign's conditions. Conditions of a campaign that is not known, as of
/// imported measurements, may be any.
///
/// Of verdicts that were given without the store, the newest launch is that which had begun by then.
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
