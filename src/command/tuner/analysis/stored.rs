//! The parts of a store that analyses, agendas and measuring read.

use std::path::Path;

use campaign::{Campaign, CampaignError};
use import::ImportRecord;
use store::{CampaignRow, LaunchRow, Store};
use vocabulary::{Library, NativeAlgorithm, Sample};
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

/// Checks that there are samples of a library.
///
/// # Errors
/// [`TunerError::NothingMeasured`] if there are none.
pub(super) fn check_measured(
    samples: &[Sample],
    store: &Store,
    library: &Library,
) -> Result<(), TunerError> {
    if !samples.is_empty() {
        return Ok(());
    }
    Err(TunerError::NothingMeasured {
        store: store.path().to_owned(),
        library: Some(library.clone()),
        found: store.libraries()?,
    })
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
