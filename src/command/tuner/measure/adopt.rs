//! Launches that a store does not know: made from another login node, or for a store that was lost.
//!
//! Where hosts share a file system, the store is elsewhere (`store_location.rs`), and the plans and spools beside the
//! campaign, in `STORE.launches`, are authoritative.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use campaign::Campaign;
use store::Store;
use wire::Plan;

use crate::launch::launches_folder;
use crate::recorded::campaign_file;
use crate::{MeasurementContext, TunerError, write_text};

/// Writes the campaign beside its launches, so that another login node can make a store from them.
pub(super) fn write_campaign_text(at: &MeasurementContext, digest: &str) -> Result<(), TunerError> {
    let launches = launches_folder(&at.campaign.output.store);
    let path = campaign_file(&launches, digest);
    if path.exists() {
        Ok(())
    } else {
        write_text(&path, at.campaign.text())
    }
}

/// Adds to the store the launches that it lacks and whose plans are beside the campaign, as unfinished launches of an
/// earlier run.
pub(super) fn adopt_launches(store: &mut Store, at: &MeasurementContext) -> Result<(), TunerError> {
    let launches = launches_folder(&at.campaign.output.store);
    let known = store.launches()?.into_iter().map(|launch| launch.number);
    let known: BTreeSet<u32> = known.collect();
    for (number, path) in find_plans(&launches)? {
        if known.contains(&number) {
            continue;
        }
        let read =
            |file: &Path| files::read_text(file).map_err(|source| reading_error(file, source));
        let plan: Plan = serde_json::from_str(&read(&path)?)
            .map_err(|error| reading_error(&path, error.into()))?;
        let text = read(&campaign_file(&launches, &plan.campaign))?;
        let campaign = Campaign::parse_stored(&text, &plan.campaign)?;
        store.record_campaign(&plan.campaign, &campaign.name, &text)?;
        store.begin_launch(&plan)?;
    }
    Ok(())
}

/// The plans in a folder of launches, by number; none if the folder does not exist.
fn find_plans(launches: &Path) -> Result<Vec<(u32, PathBuf)>, TunerError> {
    let entries = match fs::read_dir(launches) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(reading_error(launches, source)),
    };
    let mut plans = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|source| reading_error(launches, source))?
            .path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name.strip_suffix(".plan.json").map(str::parse);
        if let Some(Ok(number)) = number {
            plans.push((number, path));
        }
    }
    plans.sort();
    Ok(plans)
}

/// The error that a file or folder cannot be read, or is not what it should be.
fn reading_error(path: &Path, source: io::Error) -> TunerError {
    TunerError::File {
        action: "read",
        path: path.to_owned(),
        source,
    }
}
