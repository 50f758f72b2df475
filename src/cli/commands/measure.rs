use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use tuner::CampaignProgress;
use vocabulary::Library;

use super::campaign::CampaignArgs;
use super::detached::{self, Detached};
use super::{Answer, CliError, Console};
use crate::interrupt;
use crate::progress::ProgressDisplay;

/// Measure a campaign without deciding
///
/// The first stage of `tune`. `fit`, `decide` and `report` use the store that it fills. The same command continues an
/// interrupted run. A measurement is one cell, or one experiment on the machine, in one launch.
///
/// Rules that the site deploys for every job, by variables, files of settings or a preloaded library, are overridden
/// while measuring, and a note says so.
///
/// `colltune schema measure` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune measure tuning/quickstart.yaml")]
pub(crate) struct Args {
    #[command(flatten)]
    campaign: CampaignArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let at = self.campaign.begin(console)?;
        let stop = interrupt::flag()?;
        if self.campaign.is_detached() {
            let submitted = tuner::submit(&at, &mut ProgressDisplay::new(console), &stop)?;
            match self.json {
                true => console.json(&Answers::Detached(detached::outcome(&at, &submitted)))?,
                false => detached::print(&at, &submitted, console)?,
            }
            return Ok(Answer::Good);
        }
        let measured = {
            let mut progress = ProgressDisplay::new(console);
            tuner::measure(&at, &mut progress, &stop)?
        };
        let store = at.store();
        let progress = measured.progress;
        if self.json {
            console.json(&Answers::Measured(Measured {
                name: &at.campaign.name,
                library: &at.library,
                store,
                launches: measured.launches,
                progress,
            }))?;
        } else {
            console.remark(format_args!(
                "launches of {} made now: {}; measurements in {}: {} of {}",
                at.library,
                measured.launches,
                store.display(),
                progress.done,
                progress.total,
            ))?;
        }
        Ok(Answer::Good)
    }
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(super) enum Answers<'a> {
    Measured(Measured<'a>),
    Detached(Detached<'a>),
}

/// The measurements made.
#[derive(JsonSchema, Serialize)]
pub(super) struct Measured<'a> {
    /// The campaign.
    name: &'a str,
    /// The library that was measured.
    library: &'a Library,
    /// The file of the store.
    store: &'a Path,
    /// The number of launches made now.
    launches: u32,
    #[serde(flatten)]
    progress: CampaignProgress,
}
