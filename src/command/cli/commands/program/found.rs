//! What the runs of a program show, as text, JSON and comma-separated values.

use guard::{
    ProgramFailure, ProgramGain, ProgramRun, ProgramVariant, ProgramVerdict, TimedProgram,
};
use report::{TextTable, inline_code, markdown_prose, text_table};
use schemars::JsonSchema;
use serde::Serialize;
use table::Deployment;
use vocabulary::units::{format_counted, format_seconds};

/// The results of timing a program.
pub(in super::super) struct ProgramResults {
    pub(in super::super) table: String,
    pub(in super::super) library: String,
    pub(super) deployment: Deployment,
    /// The command as it was given.
    pub(in super::super) command: String,
    /// The pattern of the figure that is compared, if it is not the run time.
    pub(super) figure: Option<String>,
    /// The loss that is tolerated, as a share.
    pub(super) materiality: f64,
    /// What the first rank of the last run with the table said about its calls.
    pub(super) summary: Option<String>,
    /// Whether calls of all runs with the table reached libcolltune.so; `None` if that is not known.
    pub(super) is_intercepted: Option<bool>,
    pub(super) timed: TimedProgram,
}

/// The output of `validate --command` and `check --command` with `--json`.
#[derive(JsonSchema, Serialize)]
pub(in super::super) struct ProgramOutput<'a> {
    /// The file of the table.
    table: &'a str,
    /// The library of the program.
    library: &'a str,
    /// How the program got the table: `colltune` or `library`.
    deployment: Deployment,
    /// The command that was given.
    command: &'a str,
    /// The pattern of the figure that is compared; null if the run time is.
    figure: Option<&'a str>,
    /// Whether larger figures are better.
    higher_is_better: bool,
    /// What the runs show.
    verdict: ProgramVerdict,
    /// The verdict as a sentence.
    sentence: String,
    /// How many times as good the program is with the table: the median over pairs; null without a pair.
    speedup: Option<f64>,
    /// The lower end of its interval; null without a pair.
    speedup_low: Option<f64>,
    /// The upper end of its interval; null without a pair.
    speedup_high: Option<f64>,
    /// The attained probability that such an interval covers the speed-up; null without a pair.
    coverage: Option<f64>,
    /// The pairs that count.
    pairs: u32,
    /// Whether time ran out before all pairs were made.
    out_of_time: bool,
    /// Whether calls of all runs with the table reached libcolltune.so; null with the library's own settings.
    intercepted: Option<bool>,
    /// What the first rank of the last run with the table said about its calls; null if it said nothing.
    summary: Option<&'a str>,
    /// The runs that failed, in the order in which they were made. Each was made again once.
    failures: &'a [ProgramFailure],
    /// The runs without and with the table that count.
    variants: [VariantSummary; 2],
    /// All runs that succeeded, in the order in which they were made.
    runs: &'a [ProgramRun],
}

/// The runs of one kind that count. Numbers are seconds, or figures if these are compared; null without a run.
#[derive(JsonSchema, Serialize)]
struct VariantSummary {
    /// How the program ran.
    variant: ProgramVariant,
    /// The number of runs.
    runs: usize,
    /// Their median.
    median: Option<f64>,
    /// The smallest.
    least: Option<f64>,
    /// The largest.
    largest: Option<f64>,
}

impl VariantSummary {
    fn from_runs(timed: &TimedProgram, variant: ProgramVariant) -> Self {
        let counted = timed.runs.iter().filter(|run| run.pair > 0);
        let values: Vec<f64> = counted
            .filter(|run| run.variant == variant)
            .map(ProgramRun::value)
            .collect();
        Self {
            variant,
            runs: values.len(),
            median: statistics::median(&values),
            least: values.iter().copied().min_by(f64::total_cmp),
            largest: values.iter().copied().max_by(f64::total_cmp),
        }
    }
}

impl<'a> ProgramOutput<'a> {
    pub(super) fn from_results(found: &'a ProgramResults) -> Self {
        let gain = found.timed.gain();
        Self {
            table: &found.table,
            library: &found.library,
            deployment: found.deployment,
            command: &found.command,
            figure: found.figure.as_deref(),
            higher_is_better: found.timed.is_higher_better,
            verdict: found.verdict(),
            sentence: found.verdict_sentence(),
            speedup: gain.map(|gain| gain.speedup),
            speedup_low: gain.map(|gain| gain.interval.low),
            speedup_high: gain.map(|gain| gain.interval.high),
            coverage: gain.map(|gain| gain.interval.coverage),
            pairs: gain.map_or(0, |gain| gain.pairs),
            out_of_time: found.timed.is_out_of_time,
            intercepted: found.is_intercepted,
            summary: found.summary.as_deref(),
            failures: &found.timed.failures,
            variants: found.variants(),
            runs: &found.timed.runs,
        }
    }
}

impl ProgramResults {
    /// What the runs show: nothing about the table if a run did not use it.
    pub(in super::super) fn verdict(&self) -> ProgramVerdict {
        match self.timed.verdict(self.materiality) {
            ProgramVerdict::Fails => ProgramVerdict::Fails,
            _ if self.is_intercepted == Some(false) => ProgramVerdict::NothingShown,
            verdict => verdict,
        }
    }

    fn variants(&self) -> [VariantSummary; 2] {
        [ProgramVariant::Without, ProgramVariant::With]
            .map(|variant| VariantSummary::from_runs(&self.timed, variant))
    }

    /// A time, or a figure of unknown unit.
    fn format_value(&self, value: Option<f64>) -> String {
        match (value, &self.figure) {
            (None, _) => "-".to_owned(),
            (Some(seconds), None) => format_seconds(seconds),
            (Some(figure), Some(_)) => figure.to_string(),
        }
    }

    fn variants_table(&self) -> TextTable {
        let rows = self.variants().map(|summary| {
            [
                format!("{} the table", summary.variant.name()),
                summary.runs.to_string(),
                self.format_value(summary.median),
                self.format_value(summary.least),
                self.format_value(summary.largest),
            ]
        });
        text_table(" | runs> | median> | least> | largest>", rows)
    }

    /// The gain in words: `1.08 times as fast (1.05 to 1.12 with 95 % confidence, 10 pairs)`.
    fn gain_clause(&self, gain: &ProgramGain) -> String {
        let quality = if self.figure.is_some() {
            "times as good"
        } else {
            "times as fast"
        };
        let ProgramGain {
            speedup,
            interval,
            pairs,
        } = gain;
        format!(
            "{speedup:.3} {quality} ({:.3} to {:.3} with {:.0} % confidence, {})",
            interval.low,
            interval.high,
            100.0 * interval.coverage,
            format_counted(pairs, "pair")
        )
    }

    /// The verdict as a sentence, or several.
    pub(in super::super) fn verdict_sentence(&self) -> String {
        let verdict = self.verdict();
        let mut sentences = match (&self.timed.failures[..], verdict) {
            ([.., last], ProgramVerdict::Fails) => format!(
                "The program fails with the table, and not without it: {}, it {}.",
                name_pair(last.pair),
                last.reason
            ),
            _ => match self.timed.gain() {
                Some(gain) => self.gain_sentence(&gain, verdict),
                None => "Nothing is shown, since no pair of runs was made.".to_owned(),
            },
        };
        if self.is_intercepted == Some(false) {
            sentences +=
                " No call was intercepted in runs with the table, so they say nothing about it.";
        }
        if verdict != ProgramVerdict::Fails {
            let failed = self.timed.failures.iter().map(|failure| {
                let variant = failure.variant.name();
                let place = name_pair(failure.pair);
                format!(
                    " A run {variant} the table failed, {place}: it {}.",
                    failure.reason
                )
            });
            sentences.extend(failed);
        }
        if self.timed.is_out_of_time {
            sentences += " Time ran out before all pairs were made.";
        }
        sentences
    }

    fn gain_sentence(&self, gain: &ProgramGain, verdict: ProgramVerdict) -> String {
        let clause = self.gain_clause(gain);
        let tolerated = format_percent(self.materiality);
        let is_slower = gain.interval.high < 1.0;
        let shown = match verdict {
            ProgramVerdict::Faster => "the table makes it faster".to_owned(),
            ProgramVerdict::Slower => "the table makes it slower".to_owned(),
            ProgramVerdict::NoLoss if is_slower => {
                format!("the table makes it slower, by less than the tolerated {tolerated}")
            }
            ProgramVerdict::NoLoss if self.materiality > 0.0 => {
                format!("a loss of {tolerated} or more is excluded, and no gain is shown")
            }
            ProgramVerdict::NoLoss => "neither a gain nor a loss is shown".to_owned(),
            ProgramVerdict::NothingShown | ProgramVerdict::Fails if !gain.is_reliable() => {
                "these are too few pairs to show a difference".to_owned()
            }
            ProgramVerdict::NothingShown | ProgramVerdict::Fails if is_slower => format!(
                "the table makes it slower, and more pairs (`--pairs`) show whether by more than {tolerated}"
            ),
            ProgramVerdict::NothingShown | ProgramVerdict::Fails => {
                "no difference is shown; more pairs (`--pairs`) narrow the interval".to_owned()
            }
        };
        format!("With the table, the program is {clause}: {shown}.")
    }

    pub(super) fn describe(&self) -> String {
        let table = self.variants_table().to_text();
        format!("{table}\n{}", self.verdict_sentence())
    }

    pub(super) fn to_markdown(&self) -> String {
        let what = match &self.figure {
            Some(pattern) => format!("Compared: {}.", inline_code(pattern)),
            None => "Compared: run times.".to_owned(),
        };
        format!(
            "## colltune: {} with {}\n\n{}\n\nCommand: {}. {what}\n\n{}\n",
            inline_code(&self.table),
            markdown_prose(&self.library),
            markdown_prose(&self.verdict_sentence()),
            inline_code(&self.command),
            self.variants_table().to_markdown().trim_end()
        )
    }
}

/// A pair in words, to follow a comma.
fn name_pair(pair: u32) -> String {
    if pair == 0 {
        "in a pair that does not count".to_owned()
    } else {
        format!("in pair {pair}")
    }
}

/// A share as in `5 %`.
fn format_percent(share: f64) -> String {
    // Four digits are more than anyone gives.
    let percent = format!("{:.4}", 100.0 * share);
    format!("{} %", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// All runs as comma-separated values, in the order in which they were made.
pub(super) fn render_runs(timed: &TimedProgram) -> String {
    let mut text = String::from("pair,variant,seconds,figure\n");
    for run in &timed.runs {
        let figure = run.figure.map(|figure| figure.to_string());
        let (pair, variant) = (run.pair, run.variant.name());
        text += &format!(
            "{pair},{variant},{},{}\n",
            run.seconds,
            figure.unwrap_or_default()
        );
    }
    text
}
