//! Common parts of the verbs about jobs: the folders of launches, and the states of jobs as text.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use answers::{JobStateName, LaunchState};
use campaign::Campaign;
use tuner::TunerError;

use crate::error::CliError;

/// The default folder of stores.
const STORES_FOLDER: &str = ".colltune";

/// The folder of a campaign's launches.
pub(super) fn launches_folder(campaign: &Path) -> Result<PathBuf, CliError> {
    let campaign = Campaign::load(campaign).map_err(TunerError::from)?;
    let mut folder = campaign.output.store.into_os_string();
    folder.push(".launches");
    Ok(folder.into())
}

/// The folders of launches of all campaigns in the working directory, by name.
pub(super) fn launches_folders_here() -> Result<Vec<PathBuf>, CliError> {
    let stores = Path::new(STORES_FOLDER);
    let failed = |source| TunerError::File {
        action: "list",
        path: stores.to_owned(),
        source,
    };
    let entries = match fs::read_dir(stores) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source).into()),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".db.launches") && path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

/// The state of a job as text.
pub(super) fn describe_launch_state(state: &LaunchState) -> String {
    let text = match state.name {
        JobStateName::TimedOut => "took too long",
        JobStateName::WallTime => "wall time over",
        JobStateName::NodeFailed => "a node failed",
        JobStateName::OutOfMemory => "out of memory",
        JobStateName::NotBegun => "did not begin",
        other => other.name(),
    };
    match (&state.reason, state.code) {
        (Some(reason), _) => format!("{text} ({reason})"),
        (None, Some(code)) => format!("{text} with code {code}"),
        (None, None) if !state.nodes.is_empty() => format!("{text} on {}", state.nodes.join(", ")),
        (None, None) => text.to_owned(),
    }
}
