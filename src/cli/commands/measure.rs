use serde_json::json;

use super::detached;
use super::workplace::CampaignArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
use crate::interrupt;
use crate::progress::ProgressDisplay;

/// Measure what a campaign asks for, and only store it
///
/// The first stage of `tune`: `fit`, `decide` and `report` work on the store that it fills. An
/// interrupted run is continued by the same command.
///
/// Rules that are deployed for every job of the site, by variables, files of settings or a preloaded library, are
/// overridden for measuring, and a note says so.
///
/// With --json, prints one object: `name`, `library`, `store` (path), `launches` (made now), `done`
/// and `total` (measurements of one cell in one launch). With --detach, the object has `job` in place of
/// `launches`: null if nothing is left to measure, or `launch`, `id`, `state`, `reason`, `nodes` as `jobs`
/// has them, and `submitted` (whether it was submitted now).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    campaign: CampaignArgs,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Example:
  colltune measure tuning/quickstart.yaml";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let at = self.campaign.begin(console)?;
        let stop = interrupt::flag()?;
        if self.campaign.is_detached() {
            let submitted = tuner::submit(&at, &mut ProgressDisplay::new(console), &stop)?;
            detached::tell(&at, &submitted, self.json, console)?;
            return Ok(Answer::Good);
        }
        let measured = {
            let mut progress = ProgressDisplay::new(console);
            tuner::measure(&at, &mut progress, &stop)?
        };
        let store = at.store();
        let tuner::Progress { done, total } = measured.progress;
        if self.json {
            console.json(&json!({
                "name": at.campaign.name,
                "library": at.library,
                "store": store,
                "launches": measured.launches,
                "done": done,
                "total": total,
            }))?;
        } else {
            console.remark(format_args!(
                "{} launches of {} made now; {done} of {total} measurements are in {}",
                measured.launches,
                at.library,
                store.display(),
            ))?;
        }
        Ok(Answer::Good)
    }
}
