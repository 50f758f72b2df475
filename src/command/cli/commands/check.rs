mod junit;
mod markdown;

use std::path::{Path, PathBuf};

use answers::{CheckedPoints, MeasuredMachine, PointVerdict, TableVerdict};
use guard::{
    CheckOutcome, CheckRequest, CheckVerdict, CheckedPoint, PointState, ProgramVerdict, check_table,
};
use printable::Plain;
use report::TextTable;
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::units::format_counted;

use super::campaign::search_paths;
use super::guarded::{
    PointParts, TableArgs, describe_misplaced, describe_probes, measured_machine, point_name,
    seconds_or_dash, warn_of_conditions,
};
use super::program::{ProgramArgs, ProgramTest};
use super::{Answer, CliError, Console};
use crate::values;

/// Check whether a table still holds, as in continuous integration
///
/// Measures the points of the table with most at stake again: the table's choice, the library's default, and the
/// runner-up, which is read from the store that the table was made from. Irregular collectives have no runner-up, since
/// their rules are chosen for all distributions together. The table does not hold at points where its
/// choice fails, or is slower than one of these or than its time in the table, significantly and by more than is
/// tolerated. Some points are probes: sizes drawn at random between measured ones where the table replaces the
/// default; they are compared with the default only. Points are not judged if ranks are placed in another order than
/// when the table was measured. A few launches select suspects, which are measured again. Only the further launches
/// decide, so that a table that holds fails the check in at most 5 % of all runs.
///
/// Rules that the site deploys for every job, by variables, files of settings or a preloaded library, are overridden
/// while measuring, and a note says so.
///
/// Exit codes: 0 the table holds; 1 it does not, and the output says where and why; 5 its choices are slower than their
/// times in the table only where the default is slower, too: the library or the machine became slower, and the table is
/// not shown to be wrong; 3 this cannot be determined, for example because the library has another version than the
/// table's, because other work was running on the machine while a point seemed slower, or because time was up while a
/// point was still suspect; the remedy is then a larger --budget.
///
/// --command times a whole program instead, in turns without and with the table, and compares the pairs. The exit codes are
/// then: 0 the program is faster with the table, or a loss of --materiality is excluded; 1 it is slower, or fails with
/// the table alone; 3 neither is shown, or the program fails without the table.
///
/// `colltune schema check` describes what --json prints, and `colltune schema program` what it prints with --command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune check tables/night.yaml
  colltune check tables/night.yaml --cells 20 --junit check.xml --markdown check.md
  colltune check tables/night.yaml --command './nightly.sh small' --pairs 20 --materiality 0.02")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    table: TableArgs,
    /// The number of points to measure, those with most at stake first, one of each algorithm before a second of any
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..))]
    cells: u32,
    /// The number of launches that select suspects
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    launches: u32,
    /// The largest tolerated extra time over the default and the runner-up, as a share; by default the campaign's
    /// materiality, and 0.05 with --command
    #[arg(long, value_name = "SHARE", value_parser = values::parse_share)]
    materiality: Option<f64>,
    /// The largest tolerated extra time over the choice's time in the table, as a share; measurements of different days
    /// differ by more than those of one launch
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0.1",
        conflicts_with = "command",
        value_parser = values::parse_share
    )]
    tolerance: f64,
    /// Write a test case for each point to this file, as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    program: ProgramArgs,
}

/// The loss of a whole program that is tolerated by default, as a share: that of a campaign without `materiality`.
const PROGRAM_MATERIALITY: f64 = vocabulary::defaults::MATERIALITY;

/// The results of a check.
#[derive(JsonSchema, Serialize)]
struct CheckResults<'a> {
    /// The file of the table.
    table: &'a Path,
    /// The library that was measured.
    library: &'a str,
    /// The reason why runners-up are not known; null if they are.
    #[serde(rename = "runners_up")]
    rivals_unknown: Option<&'a str>,
    /// The seed that probes were drawn from.
    seed: u64,
    #[serde(skip)]
    outcome: &'a CheckOutcome,
}

impl CheckArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let junit = [("`--junit`", self.junit.as_deref())];
        let of_program = ProgramTest {
            materiality: self.materiality.unwrap_or(PROGRAM_MATERIALITY),
            assume_commutative: false,
            outputs: &junit,
        };
        if let Some(found) = self
            .program
            .time_program(&self.table, &of_program, console)?
        {
            if let Some(path) = &self.junit {
                tuner::write_text(path, &junit::render_program(&found)?)?;
            }
            return Ok(match found.verdict() {
                ProgramVerdict::Faster | ProgramVerdict::NoLoss => Answer::Good,
                ProgramVerdict::Slower | ProgramVerdict::Fails => Answer::No,
                ProgramVerdict::NothingShown => Answer::Unfit,
            });
        }
        let (table, sources) = self.table.read(&junit, false, console)?;
        let request = CheckRequest {
            deployment: self.table.deployment,
            cells: self.cells as usize,
            probing: self.table.choose_probing(Some(self.cells)),
            materiality: self.materiality,
            tolerance: self.tolerance,
            setup: self.table.setup_options(self.launches),
        };
        let mut caller = self.table.test_caller(console);
        let outcome = check_table(table, sources, &request, &search_paths(), &mut caller)?;
        let found = CheckResults {
            table: &self.table.path,
            library: &outcome.library.to_string(),
            rivals_unknown: outcome.rivals_unknown.as_deref(),
            seed: request.probing.seed,
            outcome: &outcome,
        };
        let checked = &outcome.checked;
        warn_of_conditions(checked.busy.iter().chain(&checked.steered), console);
        for sentence in describe_misplaced(&outcome.checked.misplaced) {
            console.warn(format_args!("{sentence}."));
        }
        self.print_results(&found, console)?;
        Ok(match outcome.checked.verdict() {
            CheckVerdict::Holds => Answer::Good,
            CheckVerdict::Wrong => Answer::No,
            CheckVerdict::SlowerMachine => Answer::SlowerMachine,
            CheckVerdict::Unknown => Answer::Unfit,
        })
    }

    fn print_results(&self, found: &CheckResults<'_>, console: Console) -> Result<(), CliError> {
        if let Some(path) = &self.junit {
            tuner::write_text(path, &junit::render_suite(found)?)?;
        }
        if let Some(path) = &self.table.markdown {
            tuner::write_text(path, &Plain(markdown::render_check(found)).to_string())?;
        }
        if self.table.json || self.table.events.is_wanted() {
            return self
                .table
                .events
                .print_outcome(&CheckOutput::from_results(found), console);
        }
        console.print(describe_results(found))
    }
}

/// The states of points at which it is not shown whether the table holds, with the words for their number.
const UNSETTLED: [(PointState, &str); 3] = [
    (PointState::NotMeasured, "not measured in the time given"),
    (PointState::Undecided, "still suspect"),
    (
        PointState::Inconclusive,
        "nothing shown, since times vary too much to exclude a loss",
    ),
];

impl CheckResults<'_> {
    /// The verdict as a sentence.
    fn verdict_sentence(&self) -> String {
        let checked = &self.outcome.checked;
        let mut remarks = String::new();
        for (state, words) in UNSETTLED {
            let count = checked.count_points_in(state);
            if count > 0 {
                remarks += &format!("; {words}: {count}");
            }
        }
        let wrong = checked.count_points_in(PointState::Regression);
        let decided = checked.count_decided();
        let (library, decided_points) = (self.library, format_counted(decided, "point"));
        match checked.verdict() {
            CheckVerdict::Holds => {
                format!("The table holds at {decided_points} measured with {library}{remarks}.")
            }
            CheckVerdict::Wrong => format!(
                "The table does not hold at {wrong} of {decided_points} measured with {library}{remarks}."
            ),
            CheckVerdict::SlowerMachine => format!(
                "The library or the machine became slower: at {wrong} of {decided_points} measured with {library} both the \
                 table's choice and the default are slower than in the table{remarks}. No other choice is shown to be \
                 better."
            ),
            CheckVerdict::Unknown => {
                let remedy = match &checked.busy {
                    Some(_) => "Stop other work on the machine, and check again",
                    None => "Give the launches more time with `--budget`",
                };
                format!(
                    "It could not be determined whether the table holds with {library}: points decided: \
                     {decided}{remarks}. {remedy}."
                )
            }
        }
    }

    fn probes_sentence(&self) -> Option<String> {
        let points = self.outcome.checked.points.iter();
        describe_probes(points.map(|checked| &checked.point), self.seed)
    }

    /// A sentence that says why runners-up are not known, if they are not.
    fn unknown_rivals_sentence(&self) -> Option<String> {
        let why = self.rivals_unknown?;
        Some(format!(
            "Runners-up are not known, since {why}; choices are not compared with them."
        ))
    }
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(super) struct CheckOutput<'a> {
    #[serde(flatten)]
    found: &'a CheckResults<'a>,
    #[serde(flatten)]
    verdict: TableVerdict,
    /// What was measured; null if no launch has told.
    machine: Option<MeasuredMachine>,
    /// Launches that decided about suspects.
    further_launches: u32,
    /// Warnings about the launches, as sentences: other work that was running.
    warnings: Vec<String>,
    /// Points not judged because ranks were placed in another order than the table's, as sentences.
    other_order: Vec<String>,
    #[serde(flatten)]
    checked_points: CheckedPoints<CheckedParts<'a>>,
}

/// The result at a point. Times are medians over launches, null if unknown.
#[derive(JsonSchema, Serialize)]
struct CheckedParts<'a> {
    #[serde(flatten)]
    point: PointParts,
    #[serde(flatten)]
    checked: &'a CheckedPoint,
    /// Full name of the runner-up.
    runner_up: Option<String>,
    /// The time in the table.
    recorded_seconds: Option<f64>,
    #[serde(flatten)]
    verdict: PointVerdict,
    /// The reasons why the table does not hold here, as sentences.
    reasons: Vec<String>,
    /// The suspicions that time was too short to decide, as sentences.
    suspicions: Vec<String>,
}

impl<'a> CheckOutput<'a> {
    fn from_results(found: &'a CheckResults<'a>) -> Self {
        let points = found.outcome.checked.points.iter();
        Self {
            found,
            verdict: TableVerdict {
                holds: found.outcome.checked.still_holds(),
                slower_machine: found.outcome.checked.verdict() == CheckVerdict::SlowerMachine,
            },
            machine: measured_machine(found.outcome.checked.tested_on.as_ref()),
            further_launches: found.outcome.checked.further_launches,
            warnings: found
                .outcome
                .checked
                .busy
                .iter()
                .chain(&found.outcome.checked.steered)
                .map(ToString::to_string)
                .collect(),
            other_order: describe_misplaced(&found.outcome.checked.misplaced),
            checked_points: CheckedPoints {
                points: points.map(CheckedParts::from_checked).collect(),
            },
        }
    }
}

impl<'a> CheckedParts<'a> {
    fn from_checked(checked: &'a CheckedPoint) -> Self {
        Self {
            point: PointParts::from_point(&checked.point),
            checked,
            runner_up: checked.runner_up.as_ref().map(ToString::to_string),
            recorded_seconds: checked.point.recorded.map(|recorded| recorded.seconds),
            verdict: PointVerdict {
                regression: checked.is_regression(),
                decided: checked.is_decided(),
            },
            reasons: checked.regression_reasons(),
            suspicions: checked.open_suspicions(),
        }
    }
}

/// The state of a point in a word or two.
fn state_label(checked: &CheckedPoint) -> &'static str {
    match checked.state() {
        PointState::Regression if checked.is_slower_machine() => "SLOWER",
        PointState::Regression => "WRONG",
        PointState::NotMeasured => "not measured",
        PointState::Undecided => "undecided",
        PointState::Inconclusive => "nothing shown",
        PointState::Holds => "holds",
    }
}

fn point_row(checked: &CheckedPoint) -> [String; 7] {
    [
        point_name(&checked.point),
        state_label(checked).to_owned(),
        checked.point.chosen.to_string(),
        seconds_or_dash(checked.seconds),
        seconds_or_dash(checked.point.recorded.map(|recorded| recorded.seconds)),
        seconds_or_dash(checked.default_seconds),
        seconds_or_dash(checked.runner_up_seconds),
    ]
}

fn points_table(found: &CheckResults<'_>) -> TextTable {
    let columns = "point |  | chosen | now> | in the table> | default> | runner-up>";
    report::text_table(columns, found.outcome.checked.points.iter().map(point_row))
}

fn describe_results(found: &CheckResults<'_>) -> String {
    let mut lines = vec![points_table(found).to_text(), String::new()];
    lines.extend(found.unknown_rivals_sentence());
    lines.extend(found.probes_sentence());
    for checked in &found.outcome.checked.points {
        let reasons = checked
            .regression_reasons()
            .into_iter()
            .chain(checked.open_suspicions());
        lines.extend(reasons.map(|reason| format!("{}: {reason}.", point_name(&checked.point))));
    }
    lines.push(found.verdict_sentence());
    lines.join("\n")
}
