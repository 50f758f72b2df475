//! What the verbs that work on a campaign share.

use std::path::PathBuf;

use campaign::LibraryChoice;
use tuner::{Places, Workplace};

use crate::console::Console;
use crate::error::CliError;
use crate::values;

/// Where programs are looked for: what the environment says.
pub(super) fn places() -> Places {
    Places {
        path: std::env::var_os("PATH").unwrap_or_default(),
        libdir: std::env::var_os("COLLTUNE_LIBDIR"),
        executable: std::env::current_exe().unwrap_or_default(),
    }
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
    pub(super) fn prepare(&self) -> Result<Workplace, CliError> {
        let library = self.library.clone();
        Ok(Workplace::prepare(&self.campaign, library, &places())?)
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
}

impl CampaignArgs {
    /// Finds what the campaign needs, and says what makes its numbers less trustworthy.
    pub(super) fn begin(&self, console: Console) -> Result<Workplace, CliError> {
        let at = self.workplace.prepare()?;
        for warning in &at.warnings {
            console.warn(format_args!("{warning}."));
        }
        if self.retry_failed {
            tuner::forget_failures(&at)?;
        }
        Ok(at)
    }
}
