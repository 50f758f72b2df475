use serde_json::json;
use tuner::Tuned;

use super::workplace::CampaignArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
use crate::interrupt;
use crate::progress::ProgressDisplay;

/// Measure a campaign, fit, decide, and write table and report
///
/// Measures what the campaign asks for and its store does not have yet; an interrupted run is
/// continued by the same command. Then fits the machine's parameters, decides for every cell, and
/// writes the decision table and the report. Prints, per collective, where the library's default
/// loses and by how much.
///
/// With --json, prints one object: `name`, `library`, `store`, `table`, `report` (paths),
/// `launches` (made now), `done` and `total` (measurements of one cell in one launch), `failures`
/// (candidates left out somewhere), `measuring_seconds` (in all), `saved_seconds` (about how much
/// longer it would have taken without racing), `exhaustive_seconds` (about how long measuring
/// everything would have taken; null unless the campaign is guided).
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
Examples:
  colltune tune tuning/quickstart.yaml
  colltune tune --retry-failed campaign.yaml";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let at = self.campaign.begin(console)?;
        let stop = interrupt::flag()?;
        let tuned = {
            let mut progress = ProgressDisplay::new(console);
            tuner::tune(&at, &mut progress, &stop)?
        };
        if self.json {
            console.json(&outcome(&tuned))?;
        } else {
            let view = tuned.analysis.view(&tuned.table);
            console.remark(report::render_summary(&view))?;
            console.remark(format_args!("table:  {}", tuned.table_path.display()))?;
            console.remark(format_args!("report: {}", tuned.report_path.display()))?;
        }
        Ok(Answer::Good)
    }
}

fn outcome(tuned: &Tuned) -> serde_json::Value {
    let origin = &tuned.analysis.origin;
    json!({
        "name": origin.name,
        "library": origin.library,
        "store": origin.store,
        "table": tuned.table_path,
        "report": tuned.report_path,
        "launches": tuned.measured.launches,
        "done": tuned.measured.progress.done,
        "total": tuned.measured.progress.total,
        "failures": tuned.analysis.failures.len(),
        "measuring_seconds": tuned.analysis.measuring_seconds,
        "saved_seconds": tuned.analysis.races.saved_seconds,
        "exhaustive_seconds": tuned.analysis.effort.map(|effort| effort.exhaustive_seconds),
    })
}
