//! The arguments of verbs that work on a campaign, and the folders that they search.

use std::path::{Path, PathBuf};

use launcher::LibraryChoice;
use table::Table;
use tuner::{MeasurementContext, SearchPaths, StateDirs};

use super::{CliError, Console};
use crate::values;

/// The folders in which programs are searched for, from the environment.
pub(super) fn search_paths() -> SearchPaths {
    SearchPaths {
        path: std::env::var_os("PATH").unwrap_or_default(),
        libdir: std::env::var_os("COLLTUNE_LIBDIR"),
        executable: std::env::current_exe().unwrap_or_default(),
        homes: state_dirs(),
    }
}

fn state_dirs() -> StateDirs {
    let path = |name| std::env::var_os(name).map(PathBuf::from);
    StateDirs {
        state: path("XDG_STATE_HOME"),
        home: path("HOME"),
    }
}

/// The file of a store that the user, a campaign or a table names.
pub(super) fn store_file(named: &Path) -> PathBuf {
    tuner::store_file(named, &state_dirs())
}

/// The file of the store that a table was made from: `named`, which must exist, or else the one that the table names.
pub(super) fn store_of_table(table: &Table, named: Option<&Path>) -> Result<PathBuf, CliError> {
    let Some(named) = named else {
        return Ok(store_file(Path::new(&table.provenance.store)));
    };
    let store = store_file(named);
    store::Store::open(&store)?;
    Ok(store)
}

/// The arguments that name a campaign and a library.
#[derive(Debug, clap::Args)]
pub(super) struct ContextArgs {
    /// The campaign
    #[arg(value_name = "CAMPAIGN.yaml")]
    campaign: PathBuf,
    /// Measure this library instead of the campaign's choice, as in mpich or openmpi-4.1.4; refused for simulated
    /// campaigns
    #[arg(long, value_name = "NAME[-VERSION]", value_parser = values::parse_library_choice)]
    library: Option<LibraryChoice>,
}

impl ContextArgs {
    /// Reads the campaign and finds the programs that it needs.
    pub(super) fn prepare_context(&self) -> Result<MeasurementContext, CliError> {
        let library = self.library.clone();
        Ok(MeasurementContext::from_campaign_file(
            &self.campaign,
            library,
            &search_paths(),
        )?)
    }
}

/// The arguments of measuring.
#[derive(Debug, clap::Args)]
pub(super) struct CampaignArgs {
    #[command(flatten)]
    context: ContextArgs,
    /// Measure candidates again that failed in earlier runs
    #[arg(long)]
    retry_failed: bool,
    /// Submit the next job to the batch system and exit without waiting; run the same command again to store its
    /// measurements and to submit the next job
    #[arg(long)]
    detach: bool,
}

impl CampaignArgs {
    /// Whether jobs are submitted and not followed.
    pub(super) fn is_detached(&self) -> bool {
        self.detach
    }

    /// Prepares measuring, and prints warnings about its conditions.
    pub(super) fn prepare_measuring(
        &self,
        console: Console,
    ) -> Result<MeasurementContext, CliError> {
        let at = self.context.prepare_context()?;
        if self.detach && !at.launcher.has_outliving_jobs() {
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
