//! What the verbs that work on a campaign share.

use std::path::{Path, PathBuf};

use tuner::{Places, Workplace};

use crate::console::Console;
use crate::error::CliError;

/// Where programs are looked for: what the environment says.
pub(super) fn places() -> Places {
    Places {
        path: std::env::var_os("PATH").unwrap_or_default(),
        libdir: std::env::var_os("COLLTUNE_LIBDIR"),
        executable: std::env::current_exe().unwrap_or_default(),
    }
}

/// Reads a campaign and finds what it needs.
pub(super) fn prepare(campaign: &Path) -> Result<Workplace, CliError> {
    Ok(Workplace::prepare(campaign, &places())?)
}

/// The arguments of measuring.
#[derive(Debug, clap::Args)]
pub(super) struct CampaignArgs {
    /// The campaign: what to measure
    #[arg(value_name = "CAMPAIGN.yaml")]
    campaign: PathBuf,
    /// Try candidates again that failed in earlier runs
    #[arg(long)]
    retry_failed: bool,
}

impl CampaignArgs {
    /// Finds what the campaign needs, and says what makes its numbers less trustworthy.
    pub(super) fn begin(&self, console: Console) -> Result<Workplace, CliError> {
        let at = prepare(&self.campaign)?;
        for warning in &at.warnings {
            console.warn(format_args!("{warning}."));
        }
        if self.retry_failed {
            tuner::forget_failures(&at)?;
        }
        Ok(at)
    }
}
