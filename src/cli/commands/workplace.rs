//! What the verbs that work on a campaign share.

use std::path::{Path, PathBuf};

use launcher::LibraryChoice;
use table::Table;
use tuner::{MeasurementContext, SearchPaths, StateDirs};

use crate::console::Console;
use crate::error::CliError;
use crate::values;

/// Where programs are looked for: what the environment says.
pub(super) fn places() -> SearchPaths {
    SearchPaths {
        path: std::env::var_os("PATH").unwrap_or_default(),
        libdir: std::env::var_os("COLLTUNE_LIBDIR"),
        executable: std::env::current_exe().unwrap_or_default(),
        homes: homes(),
    }
}

fn homes() -> StateDirs {
    let path = |name| std::env::var_os(name).map(PathBuf::from);
    StateDirs {
        state: path("XDG_STATE_HOME"),
        home: path("HOME"),
    }
}

/// The file of the store that the user, a campaign or a table calls so.
pub(super) fn store_file(named: &Path) -> PathBuf {
    tuner::store_file(named, &homes())
}

/// The file of the store that a table was made from: the one named, which must be there, or where the
/// table says.
pub(super) fn store_of(table: &Table, named: Option<&Path>) -> Result<PathBuf, CliError> {
    let Some(named) = named else {
        return Ok(store_file(Path::new(&table.provenance.store)));
    };
    let store = store_file(named);
    store::Store::open(&store)?;
    Ok(store)
}

/// The campaign to work on.
#[derive(Debug, clap::Args)]
pub(super) struct WorkplaceArgs {
    /// The campaign: what to measure
    #[arg(value_name = "CAMPAIGN.yaml")]
    campaign: PathBuf,
    /// Measure this library and not the campaign's own choice, as in mpich or openmpi-4.1.4;
    /// refused where the campaign is simulated
    #[arg(long, value_name = "NAME[-VERSION]", value_parser = values::library_choice)]
    library: Option<LibraryChoice>,
}

impl WorkplaceArgs {
    /// Reads the campaign and finds what it needs.
    pub(super) fn prepare(&self) -> Result<MeasurementContext, CliError> {
        let library = self.library.clone();
        Ok(MeasurementContext::prepare(
            &self.campaign,
            library,
            &places(),
        )?)
    }
}

/// The arguments of measuring.
#[derive(Debug, clap::Args)]
pub(super) struct CampaignArgs {
    #[command(flatten)]
    workplace: WorkplaceArgs,
    /// Try candidates again that failed in earlier runs
    #[arg(long)]
    retry_failed: bool,
    /// Submit the next job and leave, where a batch system starts the launches; run the same again to
    /// take in what it has measured, and to submit the next one
    #[arg(long)]
    detach: bool,
}

impl CampaignArgs {
    /// Whether jobs shall be submitted and not followed.
    pub(super) fn is_detached(&self) -> bool {
        self.detach
    }

    /// Finds what the campaign needs, and says what makes its numbers less trustworthy.
    pub(super) fn begin(&self, console: Console) -> Result<MeasurementContext, CliError> {
        let at = self.workplace.prepare()?;
        if self.detach && !at.launcher.outlives() {
            return Err(CliError::NotDetachable);
        }
        for warning in &at.warnings {
            console.warn(format_args!("{warning}."));
        }
        if self.retry_failed {
            tuner::forget_failures(&at)?;
        }
        Ok(at)
    }
}
