mod junit;
mod markdown;

use std::path::{Path, PathBuf};

use guard::{
    CheckOptions, Checked, CheckedPoint, Finding, Launches, Rivals, add_probes, check, points,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::grid::grid;
use super::guarded::{PointParts, TableArgs, name_of, other_orders, probes_of, time};
use super::workplace::store_of;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::values;

/// Check whether a table still holds, as in continuous integration
///
/// Measures the points of the table with most at stake again: what the table chooses, the library's default,
/// and the runner-up, which the store knows that the table was made from. The table no longer holds where
/// what it chooses is slower than one of these, or takes longer than the table says, for certain and by
/// enough to matter; or where it fails. Some points are probes: sizes drawn at random between measured ones,
/// where the table does not keep the default; there, what it chooses must not be slower than the default.
/// Points are not judged where ranks stand on their nodes in another order than when the table was measured. A
/// few launches look for suspects; these are measured again, and only the further launches decide, so that a table that
/// holds is called wrong in 5 % of all runs at most.
///
/// Rules that are deployed for every job of the site, by variables, files of settings or a preloaded library, are
/// overridden for measuring, and a note says so.
///
/// Exit codes: 0 the table holds; 1 it does not, and what was printed says where and why; 3 it could not be
/// measured, as where the library has another version than the table's.
///
/// `colltune schema check` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// Points to look at, those with most at stake first, one of each algorithm before a second of any
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..))]
    cells: u32,
    /// Launches that look for suspects
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    launches: u32,
    /// How much longer than default and runner-up is too long, as a share; by default the campaign's
    /// materiality
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    materiality: Option<f64>,
    /// How much longer than its time in the table is too long, as a share: measurements of different days
    /// differ by more than those of one launch
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = values::share)]
    tolerance: f64,
    /// The store with the measurements, if it is not where the table says
    #[arg(long, value_name = "STORE")]
    store: Option<PathBuf>,
    /// Write a test case a point to this file, in the XML of JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  colltune check tables/night.yaml
  colltune check tables/night.yaml --cells 20 --junit check.xml --markdown check.md";

/// What was found, for people and programs.
struct Found<'a> {
    table: &'a Path,
    library: &'a str,
    /// Why runners-up are not known.
    silence: Option<&'a str>,
    /// What probes were drawn from.
    seed: u64,
    checked: &'a Checked,
}

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let junit = [("`--junit`", self.junit.as_deref())];
        let store = self.store.as_deref();
        let (table, campaign) = self.table.read(&junit, false, store, console)?;
        let deployment = self.table.deployment;
        let elements = (campaign.datatype, campaign.commuting_operator());
        let mut points = points(&table, deployment, elements, false);
        if points.is_empty() {
            let deployment = deployment.into();
            return Err(guard::GuardError::NothingToMeasure { deployment }.into());
        }
        points.truncate(self.cells as usize);
        let probing = self.table.probing(Some(self.cells));
        add_probes(&mut points, &table, deployment, elements, probing);
        let store = store_of(&table, store)?;
        let rivals = Rivals::find(&table, &store, deployment, &points)?;
        let options = CheckOptions {
            launches: self.launches,
            materiality: self.materiality.unwrap_or(campaign.materiality),
            tolerance: self.tolerance,
        };
        let site = self
            .table
            .site(&table, campaign, &points, self.launches, console)?;
        let stop = interrupt::flag()?;
        let checked = {
            let events = self.table.events;
            let mut observer = events.observer(console, ProgressDisplay::once, &stop)?;
            let mut launches = Launches::new(&site.at, &mut *observer, &stop);
            check(&points, &rivals, &mut launches, &options)
        };
        let library = site.at.library.to_string();
        let checked = site.conclude(checked)?;
        let found = Found {
            table: &self.table.path,
            library: &library,
            silence: rivals.silence.as_deref(),
            seed: probing.seed,
            checked: &checked,
        };
        for sentence in other_orders(&found.checked.misplaced) {
            console.warn(format_args!("{sentence}."));
        }
        self.print(&found, console)?;
        Ok(match checked.holds() {
            true => Answer::Good,
            false => Answer::No,
        })
    }

    fn print(&self, found: &Found<'_>, console: Console) -> Result<(), CliError> {
        if let Some(path) = &self.junit {
            tuner::write(path, &junit::render(found)?)?;
        }
        if let Some(path) = &self.table.markdown {
            tuner::write(path, &markdown::render(found))?;
        }
        if self.table.events.is_wanted() {
            return self.table.events.conclude(&Answers::of(found));
        }
        if self.table.json {
            return console.json(&Answers::of(found));
        }
        console.print(describe(found))
    }
}

impl Found<'_> {
    /// The answer as a sentence.
    fn verdict(&self) -> String {
        let points = &self.checked.points;
        let wrong = points.iter().filter(|point| point.is_regression()).count();
        let measured = points.iter().filter(|point| point.is_measured()).count();
        let missing = match points.len() - measured {
            0 => String::new(),
            missing => format!("; not measured in the time given: {missing}"),
        };
        let missing = match points.iter().filter(|point| point.is_undecided()).count() {
            0 => missing,
            undecided => format!("{missing}; still suspect when time was up: {undecided}"),
        };
        match wrong {
            0 => format!(
                "The table holds at {measured} points measured with {}{missing}.",
                self.library
            ),
            _ => format!(
                "The table does not hold at {wrong} of {measured} points measured with {}{missing}.",
                self.library
            ),
        }
    }

    /// A sentence that names the points that are probes.
    fn probes(&self) -> Option<String> {
        let points = self.checked.points.iter();
        probes_of(points.map(|checked| &checked.point), self.seed)
    }

    /// What is known of runners-up, as a sentence, if they are not.
    fn silence(&self) -> Option<String> {
        let why = self.silence?;
        Some(format!(
            "Runners-up are not known, as {why}: compared with the default alone."
        ))
    }
}

/// What `--json` prints.
#[derive(JsonSchema, Serialize)]
pub(super) struct Answers<'a> {
    table: &'a Path,
    /// The library that was measured.
    library: &'a str,
    /// Whether the table holds.
    holds: bool,
    /// Why runners-up are not known; null if they are.
    runners_up: Option<&'a str>,
    /// Launches that decided about suspects.
    further_launches: u32,
    /// The seed that probes were drawn from.
    seed: u64,
    /// Where ranks stood in another order than the table's, as sentences.
    other_order: Vec<String>,
    points: Vec<CheckedParts<'a>>,
}

/// What was found at a point. Times are medians over launches, null if unknown.
#[derive(JsonSchema, Serialize)]
struct CheckedParts<'a> {
    #[serde(flatten)]
    point: PointParts,
    /// Full name of the runner-up.
    runner_up: Option<String>,
    /// The time of what is chosen.
    seconds: Option<f64>,
    default_seconds: Option<f64>,
    runner_up_seconds: Option<f64>,
    /// The time that stands in the table.
    recorded_seconds: Option<f64>,
    /// Launches that these times are from.
    launches: u32,
    /// Whether the table does not hold here.
    regression: bool,
    /// How what is chosen failed; null if it did not.
    broken: Option<&'a str>,
    /// What became slower, as sentences.
    reasons: Vec<String>,
    /// The suspicions.
    findings: &'a [Finding],
}

impl<'a> Answers<'a> {
    fn of(found: &Found<'a>) -> Self {
        let points = found.checked.points.iter();
        Self {
            table: found.table,
            library: found.library,
            holds: found.checked.holds(),
            runners_up: found.silence,
            further_launches: found.checked.further_launches,
            seed: found.seed,
            other_order: other_orders(&found.checked.misplaced),
            points: points.map(CheckedParts::of).collect(),
        }
    }
}

impl<'a> CheckedParts<'a> {
    fn of(checked: &'a CheckedPoint) -> Self {
        Self {
            point: PointParts::of(&checked.point),
            runner_up: checked.runner_up.as_ref().map(ToString::to_string),
            seconds: checked.seconds,
            default_seconds: checked.default_seconds,
            runner_up_seconds: checked.runner_up_seconds,
            recorded_seconds: checked.point.recorded.map(|recorded| recorded.seconds),
            launches: checked.launches,
            regression: checked.is_regression(),
            broken: checked.broken.as_deref(),
            reasons: checked.reasons(),
            findings: &checked.findings,
        }
    }
}

/// A word about a point.
fn state(checked: &CheckedPoint) -> &'static str {
    match () {
        () if checked.is_regression() => "WRONG",
        () if !checked.is_measured() => "not measured",
        () if checked.is_undecided() => "undecided",
        () => "holds",
    }
}

/// The columns of a point: name, word, what is chosen, and the times.
fn row(checked: &CheckedPoint) -> [String; 7] {
    [
        name_of(&checked.point),
        state(checked).to_owned(),
        checked.point.chosen.to_string(),
        time(checked.seconds),
        time(checked.point.recorded.map(|recorded| recorded.seconds)),
        time(checked.default_seconds),
        time(checked.runner_up_seconds),
    ]
}

fn describe(found: &Found<'_>) -> String {
    let rows = found.checked.points.iter().map(row);
    let columns = [
        "point",
        "",
        "chosen",
        "now>",
        "in the table>",
        "default>",
        "runner-up>",
    ];
    let mut lines = vec![grid(columns, rows), String::new()];
    lines.extend(found.silence());
    lines.extend(found.probes());
    for checked in &found.checked.points {
        let reasons = checked.reasons().into_iter();
        lines.extend(reasons.map(|reason| format!("{}: {reason}.", name_of(&checked.point))));
    }
    lines.push(found.verdict());
    lines.join("\n")
}
