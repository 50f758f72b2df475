use std::collections::BTreeMap;

use serde_json::json;
use table::Lack;
use tuner::{Measured, Tuned};

use super::detached;
use super::workplace::CampaignArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::events::EventsArg;
use crate::exit::Answer;
use crate::interrupt;
use crate::progress::ProgressDisplay;

/// Measure a campaign, fit, decide, and write table, reports and export
///
/// Measures what the campaign asks for and its store does not have yet, first to find candidates that may
/// replace the default, then these again, in fresh launches; an interrupted run is
/// continued by the same command. Then fits the machine's parameters, decides for every cell, and
/// writes the decision table and the report, as Markdown and as a page with pictures, and, if the
/// library's own algorithms (`native:*`) were among the candidates and some are worth it, a file beside
/// the table that the library reads, with the rules that are confirmed and have the campaign's `min_confidence`.
/// Prints, per collective, where the library's default loses and by how much, and what makes the numbers less
/// trustworthy.
///
/// Ends with 0 also where the default is best everywhere. With --require-confirmed it ends with 1 if decisions rest
/// on fewer launches than they need: the default stays wherever another candidate was not confirmed for lack of
/// time, and the summary says which `budget` is needed at least.
///
/// Rules that are deployed for every job of the site, by variables, files of settings or a preloaded library, are
/// overridden for measuring, and a note says so.
///
/// With --json, prints one object: `name`, `library`, `store`, `table`, `report`, `page`, `export`
/// (paths, `page` null beside a report that is a device or the like, `export` null if nothing was exported),
/// `launches` (made now), `done` and `total` (measurements of one cell in one launch), `failures`
/// (candidates left out somewhere), `measuring_seconds` (in all), `confirming_seconds` (of these in launches
/// that confirmed choices), `saved_seconds` (about how much
/// longer it would have taken without racing), `exhaustive_seconds` (about how long measuring
/// everything would have taken; null unless the campaign is guided), `unconfirmed` (the number of choices that
/// lack fresh launches), `needed_budget_seconds` (the least budget that would suffice for these, by what measuring
/// took; null if nothing is left to confirm), `confirmed` (whether decisions rest on as many launches as they
/// need), `withheld` (the number of rules that are not deployed), `warnings`. With --detach, as long as there is
/// something to measure, it prints what `measure --detach` prints.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    campaign: CampaignArgs,
    /// End with 1 if choices are left unconfirmed, or decisions rest on fewer launches than they need
    #[arg(long)]
    require_confirmed: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    events: EventsArg,
}

const EXAMPLES: &str = "\
Examples:
  colltune tune tuning/quickstart.yaml
  colltune tune --retry-failed campaign.yaml
  colltune tune --require-confirmed campaign.yaml
  colltune tune --detach tuning/cluster.yaml";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let at = self.campaign.begin(console)?;
        let stop = interrupt::flag()?;
        let mut observer = self.events.observer(console, ProgressDisplay::new, &stop)?;
        let tuned = if self.campaign.is_detached() {
            tuner::check_outputs(&at)?;
            let submitted = tuner::submit(&at, &mut *observer, &stop)?;
            if submitted.job.is_some() && self.events.is_wanted() {
                self.events.conclude(&detached::outcome(&at, &submitted))?;
                return Ok(Answer::Good);
            }
            if submitted.job.is_some() {
                drop(observer);
                detached::tell(&at, &submitted, self.json, console)?;
                return Ok(Answer::Good);
            }
            let measured = Measured {
                launches: 0,
                progress: submitted.progress,
            };
            tuner::conclude(&at, measured, &mut *observer)?
        } else {
            tuner::tune(&at, &mut *observer, &stop)?
        };
        drop(observer);
        if self.events.is_wanted() {
            self.events.conclude(&outcome(&tuned))?;
        } else if self.json {
            console.json(&outcome(&tuned))?;
        } else {
            let view = tuned.analysis.view(&tuned.table);
            console.remark(report::render_summary(&view))?;
            for warning in &tuned.table.provenance.warnings {
                console.remark(format_args!("warning: {warning}"))?;
            }
            console.remark(format_args!("table:  {}", tuned.table_path.display()))?;
            if tuned.page_path.as_ref() != Some(&tuned.report_path) {
                console.remark(format_args!("report: {}", tuned.report_path.display()))?;
            }
            if let Some(page) = &tuned.page_path {
                console.remark(format_args!("page:   {}", page.display()))?;
            }
            let lacks = tuned.withheld.iter().map(|withheld| withheld.lack);
            for sentence in withheld(lacks) {
                console.remark(sentence)?;
            }
            if let Some(path) = tuned.export.path() {
                console.remark(format_args!("export: {}", path.display()))?;
            }
        }
        for warning in tuned.export.warnings(&tuned.table.provenance.library) {
            console.warn(warning);
        }
        match self.require_confirmed && !tuned.analysis.suffices() {
            true => {
                console.warn("decisions rest on fewer launches than they need, see above");
                Ok(Answer::No)
            }
            false => Ok(Answer::Good),
        }
    }
}

/// How many rules are not deployed, a sentence for each reason.
fn withheld(rules: impl IntoIterator<Item = Lack>) -> Vec<String> {
    let mut lacks: BTreeMap<String, (Lack, usize)> = BTreeMap::new();
    for lack in rules {
        lacks.entry(lack.to_string()).or_insert((lack, 0)).1 += 1;
    }
    let sentence = |(lack, number)| {
        let (rules, are, them, their) = match number {
            1 => ("rule", "is", "it", "its"),
            _ => ("rules", "are", "them", "their"),
        };
        let why = match lack {
            Lack::Confirmation => format!("no fresh launches confirmed {them}"),
            Lack::Confidence(confidence) => format!("{their} confidence is {confidence}"),
            Lack::Measurement => format!("{their} times are simulated"),
        };
        format!("{number} {rules} {are} in the table and {are} not deployed: {why}")
    };
    lacks.into_values().map(sentence).collect()
}

fn outcome(tuned: &Tuned) -> serde_json::Value {
    let origin = &tuned.analysis.origin;
    json!({
        "name": origin.name,
        "library": origin.library,
        "store": origin.store,
        "table": tuned.table_path,
        "report": tuned.report_path,
        "page": tuned.page_path,
        "export": tuned.export.path(),
        "launches": tuned.measured.launches,
        "done": tuned.measured.progress.done,
        "total": tuned.measured.progress.total,
        "failures": tuned.analysis.failures.len(),
        "measuring_seconds": tuned.analysis.found.cost.seconds,
        "confirming_seconds": tuned.analysis.found.cost.confirming_seconds,
        "saved_seconds": tuned.analysis.found.cost.races.saved_seconds,
        "exhaustive_seconds": tuned.analysis.found.cost.effort.map(|effort| effort.exhaustive_seconds),
        "unconfirmed": tuned.analysis.found.unconfirmed_choices(),
        "needed_budget_seconds": tuned.analysis.needed_budget,
        "confirmed": tuned.analysis.suffices(),
        "withheld": tuned.withheld.len(),
        "warnings": tuned.table.provenance.warnings,
    })
}

#[cfg(test)]
mod tests {
    use table::Confidence;

    use super::*;

    #[test]
    fn rules_that_are_not_deployed_are_counted_in_plain_words() {
        let low = Lack::Confidence(Confidence::Low);
        assert!(withheld([]).is_empty());
        assert_eq!(
            withheld([low, Lack::Confirmation, low]),
            [
                "2 rules are in the table and are not deployed: their confidence is low",
                "1 rule is in the table and is not deployed: no fresh launches confirmed it",
            ]
        );
        assert_eq!(
            withheld([Lack::Confirmation; 3]),
            ["3 rules are in the table and are not deployed: no fresh launches confirmed them"]
        );
    }
}
