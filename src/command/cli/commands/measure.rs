use answers::{Measured, SubmittedLaunch};
use schemars::JsonSchema;
use serde::Serialize;

use super::campaign::CampaignArgs;
use super::detached::{self, StoreOutcome};
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
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    campaign: CampaignArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl MeasureArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let at = self.campaign.prepare_measuring(console)?;
        let stop = interrupt::stop_flag()?;
        if self.campaign.is_detached() {
            let submitted =
                tuner::submit_next_launch(&at, &mut ProgressDisplay::new(console), &stop)?;
            if self.json {
                console.print_json(&MeasureOutput::Detached(StoreOutcome::with_context(
                    &at, &submitted,
                )))?
            } else {
                detached::print_submitted(&at, &submitted, console)?
            }
            return Ok(Answer::Good);
        }
        let measured = {
            let mut progress = ProgressDisplay::new(console);
            tuner::measure_campaign(&at, &mut progress, &stop)?
        };
        let progress = measured.progress;
        if self.json {
            console.print_json(&MeasureOutput::Measured(StoreOutcome::with_context(
                &at, &measured,
            )))?;
        } else {
            console.remark(format_args!(
                "launches of {} made now: {}; measurements in {}: {} of {}",
                at.library,
                measured.launches,
                at.store_path().display(),
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
pub(super) enum MeasureOutput<'a> {
    Measured(StoreOutcome<'a, Measured>),
    Detached(StoreOutcome<'a, SubmittedLaunch>),
}
