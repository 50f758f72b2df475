//! The results of a validation as text, Markdown and JSON.

use answers::{JudgementCounts, MeasuredDeployment, MeasuredMachine, Speedups, ValidatedPoints};
use guard::{Judgement, TableChanges, Validated, ValidatedPoint, fewest_launches};
use report::{TextTable, markdown_prose, text_table};
use schemars::JsonSchema;
use serde::Serialize;
use statistics::{Interval, PairedRatio};
use vocabulary::units::format_counted;

use super::super::guarded::{
    PointParts, describe_misplaced, describe_probes, measured_machine, point_name, seconds_or_dash,
};

/// The results of a validation.
#[derive(JsonSchema, Serialize)]
pub(super) struct ValidationResults {
    /// The file of the table.
    pub(super) table: String,
    /// The library that was measured.
    pub(super) library: String,
    #[serde(flatten)]
    pub(super) measured: MeasuredDeployment,
    /// Points at which the table keeps the default.
    #[serde(skip)]
    pub(super) default_points: usize,
    /// The seed that probes were drawn from.
    pub(super) seed: u64,
    #[serde(skip)]
    pub(super) validated: Validated,
    #[serde(flatten)]
    pub(super) changes: TableChanges,
    /// The number of rules that no launches confirmed.
    pub(super) unconfirmed: usize,
    /// Whether rules were to be confirmed.
    #[serde(skip)]
    pub(super) confirms: bool,
}

/// The names of judgements, with the words for the number of points that have them.
const JUDGEMENTS: [(&str, &str); 8] = [
    ("faster", "significantly faster"),
    ("same", "statistically indistinguishable"),
    (
        "inconclusive",
        "at which nothing is shown (times vary too much to exclude a loss beyond the materiality)",
    ),
    ("slower", "significantly slower"),
    ("too_few_launches", "measured in too few launches to tell"),
    ("broken", "failed"),
    ("undecided", "still suspect when time was up"),
    ("not_measured", "not measured"),
];

impl ValidationResults {
    /// The numbers of points with each judgement.
    fn describe_counts(&self) -> String {
        let counts = JUDGEMENTS.map(|(name, words)| (self.validated.count_judged(name), words));
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts.map(|(n, words)| format!("{n} {words}")).collect();
        let kept = format!(
            "further points, at which the table keeps the default: {}",
            self.default_points
        );
        if counts.is_empty() {
            format!("There is nothing to measure; {kept}.")
        } else {
            format!("Points: {}; {kept}.", counts.join(", "))
        }
    }

    /// The summary, as sentences.
    fn summary_sentences(&self) -> Vec<String> {
        let validated = &self.validated;
        let mut lines = Vec::new();
        // What people ask first: what the table gains.
        if let Some(summary) = validated.speedup_summary() {
            lines.push(format!(
                "Speed-up over the default of {}: {:.2} in geometric mean over {}, {:.2} at best, {:.2} at \
                 worst.",
                self.library,
                summary.geometric_mean,
                format_counted(summary.points, "point"),
                summary.best,
                summary.worst
            ));
        }
        lines.push(self.describe_counts());
        // Then what the results rest on, and how to get more.
        if validated.count_judged("too_few_launches") > 0 {
            lines.push(format!(
                "A point is judged if at least {} launches have valid times of both: measure in more with \
                 `--launches`, and give them enough time with `--budget`.",
                fewest_launches()
            ));
        }
        let points = validated.points.iter();
        lines.extend(describe_probes(points.map(|found| &found.point), self.seed));
        // Then what has changed because of them.
        let TableChanges {
            repaired,
            confirmed,
            kept,
            kept_in_table,
            refuted,
            export,
            stale: _,
        } = &self.changes;
        lines.extend(
            repaired
                .iter()
                .map(|change| format!("Turned back to the default: {change}.")),
        );
        lines.extend(confirmed.iter().map(|part| format!("Confirmed: {part}.")));
        if self.confirms && self.unconfirmed > 0 {
            lines.push(format!(
                "Rules that stay unconfirmed: {}. A rule is confirmed only within the measured sizes, and only if it \
                 is significantly faster, by the campaign's `materiality` or more, at every point in {} launches or \
                 more, with a probe between each two measured sizes.",
                self.unconfirmed,
                fewest_launches()
            ));
        }
        if let Some(kept) = kept.as_ref().map(|kept| kept.display().to_string()) {
            let and_table = if *kept_in_table && kept != self.table {
                format!(" and in {}", self.table)
            } else {
                String::new()
            };
            lines.push(format!("The verdicts are kept in {kept}{and_table}."));
        }
        if *refuted > 0 {
            lines.push(
                "Where the table was found slower or failing, the library's default is used from now on; `--repair` \
                 turns its rules back."
                    .to_owned(),
            );
        }
        if let Some(export) = export {
            lines.push(format!("{} is written again.", export.display()));
        }
        lines
    }

    fn points_table(&self) -> TextTable {
        let columns = "point | chosen | default> | with it> | speed-up> | interval | ";
        text_table(columns, self.validated.points.iter().map(point_row))
    }

    pub(super) fn describe(&self) -> String {
        let mut lines = vec![self.points_table().to_text(), String::new()];
        if self.validated.points.is_empty() {
            lines.clear();
        }
        lines.extend(self.summary_sentences());
        lines.join("\n")
    }

    pub(super) fn to_markdown(&self) -> String {
        let table = markdown_prose(&self.table);
        let deployment = self.measured.deployment;
        let mut text = format!("## colltune validate: {table}, deployment {deployment}\n\n");
        let verdict: Vec<String> = self
            .summary_sentences()
            .iter()
            .map(|line| markdown_prose(line))
            .collect();
        text += &verdict.join("\n\n");
        text + "\n\n" + self.points_table().to_markdown().trim_end() + "\n"
    }

    pub(super) fn to_output(&self) -> ValidateOutput<'_> {
        let (validated, summary) = (&self.validated, self.validated.speedup_summary());
        ValidateOutput {
            found: self,
            speedups: Speedups {
                geometric_mean: summary.map(|summary| summary.geometric_mean),
                best: summary.map(|summary| summary.best),
                worst: summary.map(|summary| summary.worst),
            },
            counts: JudgementCounts {
                faster: validated.count_judged("faster"),
                same: validated.count_judged("same"),
                inconclusive: validated.count_judged("inconclusive"),
                slower: validated.count_judged("slower"),
                broken: validated.count_judged("broken"),
                too_few_launches: validated.count_judged("too_few_launches"),
                undecided: validated.count_judged("undecided"),
                not_measured: validated.count_judged("not_measured"),
            },
            machine: measured_machine(validated.tested_on.as_ref()),
            further_launches: validated.further_launches,
            warnings: validated
                .busy
                .iter()
                .chain(&validated.steered)
                .map(ToString::to_string)
                .collect(),
            other_order: describe_misplaced(&validated.misplaced),
            found_points: ValidatedPoints {
                points: validated
                    .points
                    .iter()
                    .map(PointFound::from_validated)
                    .collect(),
            },
        }
    }
}

/// The output of `--json`. Speed-ups are null if nothing was measured often enough.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct ValidateOutput<'a> {
    #[serde(flatten)]
    found: &'a ValidationResults,
    #[serde(flatten)]
    speedups: Speedups,
    #[serde(flatten)]
    counts: JudgementCounts,
    /// What was measured; null if no launch has told.
    machine: Option<MeasuredMachine>,
    /// Launches that decided about suspects.
    further_launches: u32,
    /// Warnings about the launches, as sentences: other work that was running.
    warnings: Vec<String>,
    /// Points not judged because ranks were placed in another order than the table's, as sentences.
    other_order: Vec<String>,
    #[serde(flatten)]
    found_points: ValidatedPoints<PointFound>,
}

/// The result at a point. Times are null if unknown.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct PointFound {
    #[serde(flatten)]
    point: PointParts,
    /// The judgement of the point.
    #[schemars(extend("enum" = ["faster", "same", "inconclusive", "slower", "too_few_launches", "undecided", "broken", "not_measured"]))]
    judgement: &'static str,
    /// The default's time divided by that of the table's choice, paired within launches.
    speedup: Option<f64>,
    /// The interval of the speed-up; null if unknown.
    interval: Option<Interval>,
    /// Launches that measured both.
    launches: Option<u32>,
    /// The time of the table's choice.
    seconds: Option<f64>,
    /// The time of the library's default.
    default_seconds: Option<f64>,
    /// The message of the failure of the table's choice.
    failure: Option<String>,
    /// The reason why the point was not measured, or not judged.
    reason: Option<String>,
}

impl PointFound {
    pub(in crate::commands) fn from_validated(found: &ValidatedPoint) -> Self {
        let (failure, reason) = match &found.judgement {
            Judgement::Broken(how) => (Some(how.clone()), None),
            Judgement::NotMeasured(why) => (None, Some(why.to_string())),
            Judgement::TooFew => (None, found.speedup.map(|speedup| too_few_reason(&speedup))),
            _ => (None, None),
        };
        Self {
            point: PointParts::from_point(&found.point),
            judgement: found.judgement.name(),
            speedup: found.speedup.map(|speedup| speedup.median),
            interval: found.speedup.map(|speedup| speedup.interval),
            launches: found.speedup.map(|speedup| speedup.launches),
            seconds: found.seconds,
            default_seconds: found.default_seconds,
            failure,
            reason,
        }
    }
}

/// The reason why a point is not judged.
fn too_few_reason(speedup: &PairedRatio) -> String {
    format!(
        "valid times of both in {}, needed in {}",
        format_counted(speedup.launches, "launch"),
        fewest_launches()
    )
}

fn point_row(validated: &ValidatedPoint) -> [String; 7] {
    let speedup = validated.speedup;
    let number = |value: f64| format!("{value:.2}");
    let interval = |ratio: Interval| format!("{:.2} to {:.2}", ratio.low, ratio.high);
    let failure = match &validated.judgement {
        Judgement::Broken(how) => format!("FAILS: {how}"),
        Judgement::Slower => "SLOWER".to_owned(),
        Judgement::Inconclusive => "nothing shown".to_owned(),
        Judgement::NotMeasured(why) => format!("not measured: {why}"),
        Judgement::TooFew => speedup.map_or_else(String::new, |speedup| {
            format!("too few launches: {}", too_few_reason(&speedup))
        }),
        other => other.name().replace('_', " "),
    };
    [
        point_name(&validated.point),
        validated.point.chosen.to_string(),
        seconds_or_dash(validated.default_seconds),
        seconds_or_dash(validated.seconds),
        speedup.map_or_else(String::new, |speedup| number(speedup.median)),
        speedup.map_or_else(String::new, |speedup| interval(speedup.interval)),
        failure,
    ]
}
