//! What a validation found, as text, Markdown and JSON.

use std::path::PathBuf;

use guard::{Confirmed, Judgement, Validated, ValidatedPoint};
use report::{cell, prose};
use serde_json::{Value, json};
use table::{Deployment, TurnedBack};

use super::super::grid::grid;
use super::super::guarded::{joined, name_of, other_orders, point_json, probes_of, time};

/// What was found, for people and programs.
pub(super) struct Found {
    pub(super) table: String,
    pub(super) library: String,
    pub(super) deployment: Deployment,
    pub(super) via: &'static str,
    /// Points at which the table keeps the default.
    pub(super) kept: usize,
    /// The seed that probes were drawn from.
    pub(super) seed: u64,
    pub(super) validated: Validated,
    pub(super) rewritten: Rewritten,
    /// Rules that no launches confirmed.
    pub(super) unconfirmed: usize,
    /// Whether rules were to be confirmed.
    pub(super) confirms: bool,
}

/// What became of the table.
#[derive(Default)]
pub(super) struct Rewritten {
    pub(super) repaired: Vec<TurnedBack>,
    pub(super) confirmed: Vec<Confirmed>,
    /// Where the verdicts are.
    pub(super) kept: Option<PathBuf>,
    /// What was written for the library.
    pub(super) export: Option<PathBuf>,
}

impl Found {
    /// The answer, as sentences.
    fn verdict(&self) -> Vec<String> {
        let validated = &self.validated;
        let mut lines = Vec::new();
        if let Some(summary) = validated.summary() {
            lines.push(format!(
                "Speed-up over the default of {}: {:.2} in geometric mean over {} points, {:.2} at best, \
                 {:.2} at worst.",
                self.library,
                summary.geometric_mean,
                summary.points,
                summary.best,
                summary.worst
            ));
        }
        lines.push(format!(
            "Significantly faster at {}, not to be told apart at {}, significantly slower at {}; too few launches \
             to tell at {}; {} failed, {} remained suspects when time was up, {} were not measured. At {} further \
             points the table keeps the default.",
            validated.count("faster"),
            validated.count("same"),
            validated.count("slower"),
            validated.count("too_few_launches"),
            validated.count("broken"),
            validated.count("undecided"),
            validated.count("not_measured"),
            self.kept
        ));
        let points = validated.points.iter();
        lines.extend(probes_of(points.map(|found| &found.point), self.seed));
        let Rewritten {
            repaired,
            confirmed,
            kept,
            export,
        } = &self.rewritten;
        let changes = repaired.iter();
        lines.extend(changes.map(|change| format!("Turned back to the default: {change}.")));
        lines.extend(confirmed.iter().map(|part| format!("Confirmed: {part}.")));
        if self.confirms && self.unconfirmed > 0 {
            lines.push(format!(
                "Rules that stay unconfirmed: {}. Beyond measured sizes, at points that are not significantly \
                 faster, and from fewer than 6 launches nothing is confirmed.",
                self.unconfirmed
            ));
        }
        if let Some(kept) = kept {
            lines.push(format!("The verdicts are kept in {}.", kept.display()));
        }
        if let Some(export) = export {
            lines.push(format!("{} is written again.", export.display()));
        }
        lines
    }

    pub(super) fn describe(&self) -> String {
        let points = self.validated.points.iter();
        let columns = [
            "point",
            "chosen",
            "default>",
            "with it>",
            "speed-up>",
            "interval",
            "",
        ];
        let mut lines = vec![grid(columns, points.map(row)), String::new()];
        if self.validated.points.is_empty() {
            lines.clear();
        }
        lines.extend(self.verdict());
        lines.join("\n")
    }

    pub(super) fn markdown(&self) -> String {
        let Self {
            table, deployment, ..
        } = self;
        let table = prose(table);
        let mut text = format!("## colltune validate: {table}, deployment {deployment}\n\n");
        let verdict: Vec<String> = self.verdict().iter().map(|line| prose(line)).collect();
        text += &verdict.join("\n\n");
        text += "\n\n| point | chosen | default | with it | speed-up | interval | |\n";
        text += "|---|---|--:|--:|--:|---|---|\n";
        for point in &self.validated.points {
            text += &format!("| {} |\n", row(point).map(|text| cell(&text)).join(" | "));
        }
        text
    }

    pub(super) fn to_json(&self) -> Value {
        let (validated, summary) = (&self.validated, self.validated.summary());
        json!({
            "table": self.table,
            "library": self.library,
            "deployment": self.deployment,
            "via": self.via,
            "geometric_mean": summary.map(|summary| summary.geometric_mean),
            "best": summary.map(|summary| summary.best),
            "worst": summary.map(|summary| summary.worst),
            "faster": validated.count("faster"),
            "same": validated.count("same"),
            "slower": validated.count("slower"),
            "broken": validated.count("broken"),
            "too_few_launches": validated.count("too_few_launches"),
            "undecided": validated.count("undecided"),
            "not_measured": validated.count("not_measured"),
            "further_launches": validated.further_launches,
            "seed": self.seed,
            "other_order": other_orders(&validated.misplaced),
            "repaired": sentences(&self.rewritten.repaired),
            "confirmed": sentences(&self.rewritten.confirmed),
            "unconfirmed": self.unconfirmed,
            "kept": self.rewritten.kept,
            "export": self.rewritten.export,
            "points": validated.points.iter().map(validated_json).collect::<Vec<_>>(),
        })
    }
}

fn sentences(changes: &[impl ToString]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

fn row(validated: &ValidatedPoint) -> [String; 7] {
    let speedup = validated.speedup;
    let number = |value: f64| format!("{value:.2}");
    let interval = |ratio: statistics::Interval| format!("{:.2} to {:.2}", ratio.low, ratio.high);
    let failure = match &validated.judgement {
        Judgement::Broken(how) => format!("FAILS: {how}"),
        Judgement::Slower => "SLOWER".to_owned(),
        Judgement::NotMeasured(why) => format!("not measured: {why}"),
        other => other.name().replace('_', " "),
    };
    [
        name_of(&validated.point),
        validated.point.chosen.to_string(),
        time(validated.default_seconds),
        time(validated.seconds),
        speedup.map_or_else(String::new, |speedup| number(speedup.median)),
        speedup.map_or_else(String::new, |speedup| interval(speedup.interval)),
        failure,
    ]
}

fn validated_json(validated: &ValidatedPoint) -> Value {
    let of_point = json!({
        "judgement": validated.judgement.name(),
        "speedup": validated.speedup.map(|speedup| speedup.median),
        "interval": validated.speedup.map(|speedup| speedup.interval),
        "launches": validated.speedup.map(|speedup| speedup.launches),
        "seconds": validated.seconds,
        "default_seconds": validated.default_seconds,
        "failure": match &validated.judgement {
            Judgement::Broken(how) => Some(how),
            _ => None,
        },
        "reason": match &validated.judgement {
            Judgement::NotMeasured(why) => Some(why.to_string()),
            _ => None,
        },
    });
    joined(point_json(&validated.point), of_point)
}
