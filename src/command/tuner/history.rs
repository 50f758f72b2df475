//! What a store has, as agendas and analyses take it.

use agenda::{ConfirmedPattern, History, SpentTime};
use campaign::{Campaign, ConfirmationMode, Strategy};
use store::{Store, StoreError};
use vocabulary::{Library, Pattern, Purpose};
use wire::LaunchStart;

use crate::TunerError;
use crate::recorded::recorded_digest;

/// Reads what the launches of a library have left in a store; nothing without one. Samples of cells are those in the
/// campaign's pattern of calls.
///
/// # Errors
/// A store that cannot be read.
pub fn read_history(
    store: Option<&Store>,
    library: &Library,
    campaign: &Campaign,
) -> Result<History, TunerError> {
    let Some(store) = store else {
        return Ok(History::default());
    };
    let mut history = read_measurements(store, library, campaign.pattern)?;
    if campaign.confirmation == ConfirmationMode::On {
        let patterns = campaign.confirming_patterns().into_iter();
        let confirmed = patterns.map(|pattern| read_confirmed(store, library, pattern));
        history.confirmed = confirmed.collect::<Result<_, _>>()?;
    }
    if campaign.strategy == Strategy::Guided {
        // On a machine whose ranks have no memory in common the campaign is another one.
        let on_machine = history.campaign_on_machine(campaign.clone());
        let digest = recorded_digest(store, &on_machine)?;
        history.unfinished_tasks = store.unfinished_tasks(library, &digest)?;
    }
    Ok(history)
}

/// The part of a history that does not depend on the campaign, with samples of cells in one pattern of calls.
pub(crate) fn read_measurements(
    store: &Store,
    library: &Library,
    pattern: Pattern,
) -> Result<History, StoreError> {
    Ok(History {
        explored: store.samples(library, pattern)?,
        ..read_launches(store, library)?
    })
}

/// The part of a history without samples, which is small in a store of any size.
pub(crate) fn read_launches(store: &Store, library: &Library) -> Result<History, StoreError> {
    let launches = store.launches()?;
    let mut of_library = launches.iter().filter(|launch| launch.library == *library);
    let failures = store.failures(library)?.into_iter();
    Ok(History {
        has_store: true,
        measured_launches: store.measured_launches(library)?.len(),
        has_launch_without_purpose: of_library.any(|launch| launch.purpose.is_none()),
        shared_memory: known_shared_memory(&store.environments(library)?),
        rank_orders: store.rank_orders(library)?,
        failures: failures
            .map(|failure| (failure.subject, failure.candidate))
            .collect(),
        spent: read_spent(store, library, None)?,
        spent_exploring: read_spent(store, library, Some(Purpose::Exploring))?,
        spent_confirming: read_spent(store, library, Some(Purpose::Confirming))?,
        ..History::default()
    })
}

/// The measurements of confirming launches in one pattern of calls.
fn read_confirmed(
    store: &Store,
    library: &Library,
    pattern: Pattern,
) -> Result<ConfirmedPattern, StoreError> {
    Ok(ConfirmedPattern {
        pattern,
        samples: store.confirming_samples(library, pattern)?,
        turn_seconds: store.confirming_turns(library, pattern)?,
    })
}

/// The time that launches took, all or those for one purpose.
fn read_spent(
    store: &Store,
    library: &Library,
    purpose: Option<Purpose>,
) -> Result<SpentTime, StoreError> {
    Ok(SpentTime {
        measuring_seconds: store.measuring_seconds(library, purpose)?,
        launch_seconds: store.spent_seconds(library, purpose)?,
    })
}

/// Whether the ranks of a node have memory in common: what the last launch that knows it reports.
fn known_shared_memory(environments: &[(u32, LaunchStart)]) -> Option<bool> {
    let mut latest = environments.iter().rev();
    latest.find_map(|(_, start)| start.environment.shared_memory)
}
