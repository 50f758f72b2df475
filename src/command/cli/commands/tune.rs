use std::collections::BTreeMap;
use std::path::Path;

use answers::{Measured, SubmittedLaunch, TunedFiles};
use schemars::JsonSchema;
use serde::Serialize;
use table::Lack;
use tuner::{Gain, HiddenShare, SampleOrigin, Tuned};

use super::campaign::CampaignArgs;
use super::detached::{self, StoreOutcome};
use super::gain::summarize_gain;
use super::{Answer, CliError, Console};
use crate::events::EventsArg;
use crate::interrupt;
use crate::progress::ProgressDisplay;

/// Measure a campaign, fit, decide, and write table, reports and export
///
/// Makes the measurements of the campaign that its store lacks: first to find candidates that may replace the default,
/// then, in fresh launches, to confirm them. The same command continues an interrupted run. Then fits the machine's
/// parameters, decides for every cell, and writes the decision table and the report, as Markdown and as a page with
/// figures. If some of the library's own algorithms (`native:*` among the candidates) beat the default, also writes a
/// file for the library beside the table, with the rules that are confirmed, have the campaign's `min_confidence` and keep
/// its requirement on the bits of sums (`numerics`).
/// Prints, for each collective, the sizes at which the library's default loses and the speed-ups, and warnings about
/// the measurements.
///
/// A campaign with `pattern: nonblocking` decides about MPI_Ibcast, MPI_Iallreduce and MPI_Ibarrier: if it writes into the table
/// of another campaign for the same library and type of node, that keeps its rules for blocking calls, and the other way
/// around.
///
/// Exits with 0 also if the default is the best everywhere. With --require-confirmed, exits with 1 if decisions rest on
/// too few launches. The default then stays wherever another candidate was not confirmed for lack of time, and the
/// summary says the least `budget` needed.
///
/// If the campaign names the calls of programs (`traffic`, as in campaigns of `colltune init --profile`), measures first
/// where these spend most time, and ends with the seconds that the table would save them.
///
/// Rules that the site deploys for every job, by variables, files of settings or a preloaded library, are overridden
/// while measuring, and a note says so.
///
/// `colltune schema tune` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune tune tuning/quickstart.yaml
  colltune tune --retry-failed campaign.yaml
  colltune tune --require-confirmed campaign.yaml
  colltune tune --detach tuning/cluster.yaml")]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    campaign: CampaignArgs,
    /// Exit with 1 if choices are unconfirmed or decisions rest on too few launches
    #[arg(long)]
    require_confirmed: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    events: EventsArg,
}

impl TuneArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let at = self.campaign.prepare_measuring(console)?;
        let stop = interrupt::stop_flag()?;
        let mut observer = self
            .events
            .make_observer(console, ProgressDisplay::new, &stop)?;
        // A detached command submits one job and ends, unless nothing is left to submit: then it decides.
        let tuned = if self.campaign.is_detached() {
            tuner::check_outputs(&at)?;
            let submitted = tuner::submit_next_launch(&at, &mut *observer, &stop)?;
            if submitted.job.is_some() {
                drop(observer);
                if self.events.is_wanted() || self.json {
                    let outcome = TuneOutput::Detached(StoreOutcome::with_context(&at, &submitted));
                    self.events.print_outcome(&outcome, console)?;
                } else {
                    detached::print_submitted(&at, &submitted, console)?;
                }
                return Ok(Answer::Good);
            }
            let measured = Measured {
                launches: 0,
                progress: submitted.progress,
            };
            tuner::decide_and_write(&at, measured, &mut *observer)?
        } else {
            tuner::tune_campaign(&at, &mut *observer, &stop)?
        };
        // The progress occupies the terminal until it is dropped.
        drop(observer);
        if self.events.is_wanted() || self.json {
            let outcome = TuneOutput::Tuned(Box::new(Outcome::from_tuned(&tuned)));
            self.events.print_outcome(&outcome, console)?;
        } else {
            let view = tuned.analysis.report_view(&tuned.table);
            console.remark(report::render_summary(&view))?;
            for share in &tuned.analysis.hidden_shares {
                console.remark(share)?;
            }
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
            for sentence in describe_withheld(lacks) {
                console.remark(sentence)?;
            }
            if let Some(export) = tuned.export.describe() {
                console.remark(format_args!("export: {export}"))?;
            }
            if let Some(gain) = &tuned.gain {
                console.remark(summarize_gain(gain))?;
            }
        }
        // An old export beside a new table would still be applied by the library, so that is an error after all.
        for warning in tuned.export.warnings(&tuned.table.provenance.library) {
            console.warn(warning);
        }
        tuned.export.require_current()?;
        if self.require_confirmed && !tuned.analysis.has_enough_launches() {
            console.warn("decisions rest on too few launches, see above");
            Ok(Answer::No)
        } else {
            Ok(Answer::Good)
        }
    }
}

/// Sentences about the rules that are not deployed, one for each reason, with their number.
fn describe_withheld(withheld: impl IntoIterator<Item = Lack>) -> Vec<String> {
    let mut lacks: BTreeMap<String, (Lack, usize)> = BTreeMap::new();
    for lack in withheld {
        lacks.entry(lack.to_string()).or_insert((lack, 0)).1 += 1;
    }
    let sentence = |(lack, number)| {
        let (rules, are, them, their) = match number {
            1 => ("rule", "is", "it", "its"),
            _ => ("rules", "are", "them", "their"),
        };
        let why = match lack {
            Lack::Verdict => format!("`colltune validate` found {them} slower or failing"),
            Lack::Confirmation => format!("no fresh launches confirmed {them}"),
            Lack::Confidence(confidence) => format!("{their} confidence is {confidence}"),
            Lack::Measurement => format!("{their} times are simulated"),
            Lack::Placement | Lack::Size | Lack::Bracketing => {
                format!("{their} bits depend on what `numerics` excludes")
            }
        };
        format!("{number} {rules} {are} in the table and {are} not deployed: {why}")
    };
    lacks.into_values().map(sentence).collect()
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(super) enum TuneOutput<'a> {
    Tuned(Box<Outcome<'a>>),
    Detached(StoreOutcome<'a, SubmittedLaunch>),
}

/// The result of tuning. Times are totals over all launches in the store.
#[derive(JsonSchema, Serialize)]
pub(super) struct Outcome<'a> {
    #[serde(flatten)]
    origin: &'a SampleOrigin,
    #[serde(flatten)]
    files: TunedFiles,
    #[serde(flatten)]
    measured: Measured,
    /// The number of failures of a candidate in a cell, where it is left out.
    failures: usize,
    /// The total time of measuring.
    measuring_seconds: f64,
    /// The part of the measuring time in launches that confirmed choices.
    confirming_seconds: f64,
    /// The time of launches beside measuring: starting and ending them, and measurements that were not finished.
    /// Budgets include it; it is 0 on simulated machines.
    launching_seconds: f64,
    /// The estimated time that early elimination of candidates saved.
    saved_seconds: f64,
    /// The estimated time of measuring everything; null unless the campaign is guided.
    exhaustive_seconds: Option<f64>,
    /// The number of choices that lack fresh launches.
    unconfirmed: usize,
    /// The smallest budget that suffices to confirm these; null if nothing is left to confirm.
    needed_budget_seconds: Option<f64>,
    /// Whether decisions rest on enough launches.
    confirmed: bool,
    /// The number of rules that are not deployed.
    withheld: usize,
    /// What the campaign's requirements on the bits of sums cost, as clauses; left out if nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    numerics_costs: Vec<String>,
    /// How much of nonblocking calls computation hides, where a choice was to be confirmed; left out for blocking ones.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    hidden_shares: &'a [HiddenShare],
    /// Warnings about the measurements, as sentences.
    warnings: &'a [String],
    /// The time that the table would save the calls that the campaign names as `traffic`; null if it names none.
    gain: Option<&'a Gain>,
}

impl<'a> Outcome<'a> {
    fn from_tuned(tuned: &'a Tuned) -> Self {
        let analysis = &tuned.analysis;
        let cost = &analysis.found.cost;
        Self {
            origin: &analysis.origin,
            files: TunedFiles {
                table: tuned.table_path.clone(),
                report: tuned.report_path.clone(),
                page: tuned.page_path.clone(),
                export: tuned.export.path().map(Path::to_owned),
            },
            measured: tuned.measured,
            failures: analysis.failures.len(),
            measuring_seconds: cost.seconds,
            confirming_seconds: cost.confirming_seconds,
            launching_seconds: cost.launching_seconds,
            saved_seconds: cost.races.saved_seconds,
            exhaustive_seconds: cost.effort.map(|effort| effort.exhaustive_seconds),
            unconfirmed: analysis.found.unconfirmed_choices(),
            needed_budget_seconds: analysis.needed_budget,
            confirmed: analysis.has_enough_launches(),
            withheld: tuned.withheld.len(),
            numerics_costs: analysis
                .report_view(&tuned.table)
                .numerics
                .iter()
                .map(ToString::to_string)
                .collect(),
            hidden_shares: &analysis.hidden_shares,
            warnings: &tuned.table.provenance.warnings,
            gain: tuned.gain.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use table::Confidence;

    use super::*;

    #[test]
    fn rules_that_are_not_deployed_are_counted_in_plain_words() {
        let low = Lack::Confidence(Confidence::Low);
        assert!(describe_withheld([]).is_empty());
        assert_eq!(
            describe_withheld([low, Lack::Confirmation, low]),
            [
                "2 rules are in the table and are not deployed: their confidence is low",
                "1 rule is in the table and is not deployed: no fresh launches confirmed it",
            ]
        );
        assert_eq!(
            describe_withheld([Lack::Confirmation; 3]),
            ["3 rules are in the table and are not deployed: no fresh launches confirmed them"]
        );
    }
}
