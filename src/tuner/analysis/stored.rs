//! What an analysis takes from a store.

use std::path::Path;

use campaign::{Campaign, CampaignError};
use fit::DecideOptions;
use import::ImportRecord;
use store::{CampaignRow, LaunchRow, Store};
use vocabulary::{Library, NativeAlgorithm, Pattern, Sample};
use wire::{LaunchStart, Shares};

use crate::TunerError;

pub(super) fn choose(store: &Store, library: Option<&Library>) -> Result<Library, TunerError> {
    if let Some(library) = library {
        return Ok(library.clone());
    }
    let mut found = store.libraries()?;
    let path = store.path().to_owned();
    match found.len() {
        0 => Err(TunerError::NothingMeasured {
            store: path,
            library: None,
        }),
        1 => Ok(found.remove(0)),
        _ => Err(TunerError::SeveralLibraries { store: path, found }),
    }
}

/// Everything that was measured with a library in calls of a pattern; there must be something.
pub(super) fn samples(
    store: &Store,
    library: &Library,
    pattern: Pattern,
) -> Result<Vec<Sample>, TunerError> {
    let samples = store.samples(library, pattern)?;
    if samples.is_empty() {
        return Err(TunerError::NothingMeasured {
            store: store.path().to_owned(),
            library: Some(library.clone()),
        });
    }
    Ok(samples)
}

/// Where measuring time went, as far as tasks tell.
pub(super) fn shares(store: &Store, library: &Library) -> Result<Option<Shares>, TunerError> {
    let spending = store.spending(library)?;
    Ok(spending.map(|(elapsed_seconds, spending)| spending.shares(elapsed_seconds)))
}

/// What the library lets one force, by the last launch that reported: there is one library, of one
/// version.
pub(super) fn natives(environments: &[(u32, LaunchStart)]) -> &[NativeAlgorithm] {
    let last = environments.last().map(|(_, start)| &start.environment);
    last.map_or(&[][..], |environment| &environment.natives)
}

/// When a difference counts, as a campaign asks for it.
pub(crate) fn decide_options(campaign: &Campaign) -> DecideOptions {
    DecideOptions {
        materiality: campaign.materiality,
        max_regret: campaign.max_regret,
        confidence: campaign.confidence,
        ..DecideOptions::default()
    }
}

/// What a store has kept of the campaign of a launch, or of the import.
pub(super) fn definition(
    store: &Store,
    launch: Option<&LaunchRow>,
) -> Result<Option<CampaignRow>, TunerError> {
    let Some(launch) = launch else {
        return Ok(None);
    };
    let mut rows = store.campaigns()?.into_iter();
    Ok(rows.find(|row| row.digest == launch.campaign))
}

/// The campaign that a store has kept; `None` of what was imported.
pub(crate) fn campaign_of(row: &CampaignRow) -> Result<Option<Campaign>, CampaignError> {
    match ImportRecord::of(row) {
        Some(_) => Ok(None),
        None => Campaign::parse_stored(&row.text).map(Some),
    }
}

pub(super) fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(
        || "store".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
