//! The parts of a store that analyses, agendas and measuring read.

use std::collections::BTreeSet;
use std::path::Path;

use campaign::{Campaign, CampaignError};
use fit::{DecideOptions, Orders};
use import::ImportRecord;
use store::{CampaignRow, LaunchRow, Store};
use vocabulary::{Library, NativeAlgorithm, Pattern, RankOrder, Sample};
use wire::{LaunchStart, Shares};

use crate::TunerError;

pub(super) fn choose_library(
    store: &Store,
    library: Option<&Library>,
) -> Result<Library, TunerError> {
    if let Some(library) = library {
        return Ok(library.clone());
    }
    let mut found = store.libraries()?;
    let path = store.path().to_owned();
    match found.len() {
        0 => Err(TunerError::NothingMeasured {
            store: path,
            library: None,
            found,
        }),
        1 => Ok(found.remove(0)),
        _ => Err(TunerError::SeveralLibraries { store: path, found }),
    }
}

/// All samples of a library in a pattern of calls.
///
/// # Errors
/// [`TunerError::NothingMeasured`] if there are none.
pub(super) fn require_samples(
    store: &Store,
    library: &Library,
    pattern: Pattern,
) -> Result<Vec<Sample>, TunerError> {
    let samples = store.samples(library, pattern)?;
    if samples.is_empty() {
        return Err(TunerError::NothingMeasured {
            store: store.path().to_owned(),
            library: Some(library.clone()),
            found: store.libraries()?,
        });
    }
    Ok(samples)
}

/// The shares of measuring time by activity, if tasks reported them.
pub(super) fn spending_shares(
    store: &Store,
    library: &Library,
) -> Result<Option<Shares>, TunerError> {
    let spending = store.time_breakdown(library)?;
    Ok(spending.map(|(elapsed_seconds, spending)| spending.shares_of_elapsed(elapsed_seconds)))
}

/// The algorithms that can be forced in the library, as the last launch reported them.
pub(crate) fn reported_natives(environments: &[(u32, LaunchStart)]) -> &[NativeAlgorithm] {
    let last = environments.last().map(|(_, start)| &start.environment);
    last.map_or(&[][..], |environment| &environment.natives)
}

/// The campaign on the machine of the launches, where ranks may have no memory in common. The last launch that knows it
/// counts.
pub(crate) fn campaign_on_machine(
    campaign: Campaign,
    environments: &[(u32, LaunchStart)],
) -> Campaign {
    let mut latest = environments.iter().rev();
    let shared_memory = latest.find_map(|(_, start)| start.environment.shared_memory);
    if shared_memory == Some(false) {
        campaign.without_shared_memory()
    } else {
        campaign
    }
}

/// The options of decisions that a campaign asks for.
pub(crate) fn decide_options(campaign: &Campaign) -> DecideOptions {
    DecideOptions {
        materiality: campaign.materiality,
        max_regret: campaign.max_regret,
        confidence: campaign.confidence,
        launches: campaign.launches,
        ..DecideOptions::default()
    }
}

/// The store's row of a launch's campaign or import.
pub(crate) fn campaign_row_of_launch(
    store: &Store,
    launch: Option<&LaunchRow>,
) -> Result<Option<CampaignRow>, TunerError> {
    let Some(launch) = launch else {
        return Ok(None);
    };
    let mut rows = store.campaigns()?.into_iter();
    Ok(rows.find(|row| row.digest == launch.campaign))
}

/// The campaign of a row; `None` for an import.
pub(crate) fn parse_campaign_row(row: &CampaignRow) -> Result<Option<Campaign>, CampaignError> {
    match ImportRecord::from_campaign_row(row) {
        Some(_) => Ok(None),
        None => Campaign::parse_stored(&row.text, &row.digest).map(Some),
    }
}

pub(super) fn name_from_store_path(path: &Path) -> String {
    path.file_stem().map_or_else(
        || "store".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

/// The recorded orders of a library's ranks, and the order for predictions: that of all launches if they agree, or else
/// the one that follows from the launcher's options.
pub(crate) fn recorded_rank_orders(
    store: Option<&Store>,
    library: &Library,
    campaign: Option<&Campaign>,
) -> Result<Orders, TunerError> {
    let recorded = match store {
        Some(store) => store.rank_orders(library)?,
        None => Default::default(),
    };
    let telling = recorded.iter().filter(|(shape, _)| shape.has_orders());
    let launched: BTreeSet<RankOrder> = telling.map(|(_, order)| *order).collect();
    let usual = match launched.first().filter(|_| launched.len() == 1) {
        Some(order) => *order,
        None => campaign.map_or(RankOrder::Unknown, Campaign::rank_order),
    };
    Ok(Orders { recorded, usual })
}
