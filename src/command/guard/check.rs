//! The check whether a table's decisions still hold.
//!
//! The question is not whether something is slower, but whether it is slower by more than the tolerance. Against the
//! table's recorded times, of another day, the tolerance is larger than within launches, and the default's own drift
//! distinguishes a slower algorithm from a slower machine.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use statistics::{median, paired_ratio, paired_ratios};
use vocabulary::defaults::CONFIDENCE;
use vocabulary::units::format_counted;
use vocabulary::{Candidate, Warning};

use crate::point::cells_to_measure;
use crate::suspects::{SuspectRatios, decide_suspects, is_suspicious};
use crate::{GuardError, LaunchTimes, Measurer, Misplaced, Point, Rivals, TestedOn};

/// Options of a check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckOptions {
    /// The number of launches that select suspects.
    pub launches: u32,
    /// The largest tolerated extra time of a choice over the default and the runner-up, as a share.
    pub materiality: f64,
    /// The largest tolerated extra time of a choice over its time in the table, as a share. It is larger than
    /// `materiality`, since times of different days cannot be paired within launches.
    pub tolerance: f64,
}

/// The time that the chosen candidate is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The library's default, in the same launches.
    Default,
    /// The best other candidate when the table was made, in the same launches.
    RunnerUp,
    /// The candidate's time in the table.
    Recorded,
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "the default",
            Self::RunnerUp => "the runner-up",
            Self::Recorded => "its time in the table",
        })
    }
}

/// A suspicion that a choice is slower, and the decision about it.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Finding {
    /// The time that the chosen candidate seems to exceed.
    pub against: Baseline,
    /// The chosen candidate's time divided by that time: the median over the deciding launches, or over the first ones
    /// if there were none.
    pub ratio: f64,
    /// The largest tolerated ratio.
    pub bound: f64,
    /// The number of deciding launches.
    pub launches: u32,
    /// Whether the candidate is significantly slower.
    #[serde(rename = "confirmed")]
    pub is_confirmed: bool,
    /// Whether this could not be decided, because time was up or the machine was busy with other work.
    #[serde(rename = "undecided")]
    pub is_undecided: bool,
}

/// What a check has shown at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointState {
    /// The table's choice fails or is significantly slower.
    Regression,
    /// The choice was not measured in the time given.
    NotMeasured,
    /// A suspicion could not be decided, because time was up or the machine was busy.
    Undecided,
    /// Times vary too much to exclude a loss.
    Inconclusive,
    /// The table holds.
    Holds,
}

/// The result at a point. Times are medians over launches in seconds.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CheckedPoint {
    /// The point.
    #[serde(skip)]
    pub point: Point,
    /// The best other candidate when the table was made, if it is known.
    #[serde(skip)]
    pub runner_up: Option<Candidate>,
    /// The time of the table's choice; null if it was not measured.
    pub seconds: Option<f64>,
    /// The time of the library's default; null if unknown.
    pub default_seconds: Option<f64>,
    /// The time of the runner-up; null if unknown.
    pub runner_up_seconds: Option<f64>,
    /// The number of launches with these times.
    pub launches: u32,
    /// The suspicions, confirmed or not.
    pub findings: Vec<Finding>,
    /// Whether nothing was shown: the choice seems no slower than the default, but the interval of their ratio does not
    /// exclude more extra time than is tolerated.
    #[serde(rename = "inconclusive")]
    pub is_inconclusive: bool,
    /// The message of the choice's failure; null if it did not fail.
    pub broken: Option<String>,
    /// Whether other work was running on the machine, so that no suspicion is decided.
    #[serde(skip)]
    pub was_busy: bool,
}

/// What the default's time shows about a choice that became slower than it was in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowdown {
    /// The default became slower, too: the library or the machine did.
    Everything,
    /// The default did not become slower: the algorithm did.
    Algorithm,
    /// The default's time does not show which.
    Unclear,
}

impl CheckedPoint {
    /// Whether the table's choice fails or is significantly slower here.
    pub fn is_regression(&self) -> bool {
        self.broken.is_some() || self.confirmed_findings().next().is_some()
    }

    /// The confirmed findings.
    pub fn confirmed_findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_confirmed)
    }

    /// Whether the choice became slower only because everything did: it is slower than its time in the table, as the
    /// default is, and not slower than the default or the runner-up. Then the table is right, and the machine is slow.
    pub fn is_slower_machine(&self) -> bool {
        let is_shown = |finding: &Finding| {
            finding.against == Baseline::Recorded
                && self.judge_slowdown(finding) == Slowdown::Everything
        };
        self.is_regression() && self.broken.is_none() && self.confirmed_findings().all(is_shown)
    }

    /// Whether a suspicion could not be decided.
    pub fn is_undecided(&self) -> bool {
        let mut findings = self.findings.iter();
        !self.is_regression() && findings.any(|finding| finding.is_undecided)
    }

    /// Whether the chosen candidate was measured or failed.
    pub fn is_measured(&self) -> bool {
        self.broken.is_some() || self.seconds.is_some()
    }

    /// Whether it is known if the table holds here.
    pub fn is_decided(&self) -> bool {
        self.is_measured() && !self.is_undecided()
    }

    /// What the check has shown here.
    pub fn state(&self) -> PointState {
        if self.is_regression() {
            PointState::Regression
        } else if !self.is_measured() {
            PointState::NotMeasured
        } else if self.is_undecided() {
            PointState::Undecided
        } else if self.is_inconclusive {
            PointState::Inconclusive
        } else {
            PointState::Holds
        }
    }

    /// The default's time divided by that in the table; near 1 if the machine is as fast as it was then.
    pub fn default_drift(&self) -> Option<f64> {
        let recorded = self.point.recorded?.default_seconds;
        Some(self.default_seconds? / recorded)
    }

    /// A sentence without a full stop for the failure and for each confirmed finding.
    pub fn regression_reasons(&self) -> Vec<String> {
        let chosen = &self.point.chosen;
        let broken = self
            .broken
            .iter()
            .map(|how| format!("{chosen} fails ({how})"));
        broken
            .chain(
                self.confirmed_findings()
                    .map(|finding| self.describe_finding(finding)),
            )
            .collect()
    }

    /// A sentence without a full stop for each suspicion that is undecided; empty if the point is a regression anyway.
    pub fn open_suspicions(&self) -> Vec<String> {
        let open = self.findings.iter().filter(|finding| finding.is_undecided);
        if self.is_undecided() {
            open.map(|finding| self.describe_finding(finding)).collect()
        } else {
            Vec::new()
        }
    }

    /// The chosen candidate's time relative to that of the finding.
    fn describe_finding(&self, finding: &Finding) -> String {
        let Finding {
            against,
            ratio,
            launches,
            ..
        } = *finding;
        let chosen = &self.point.chosen;
        let other = match (against, &self.runner_up) {
            (Baseline::RunnerUp, Some(rival)) => format!("{rival}, the runner-up"),
            _ => against.to_string(),
        };
        let takes = format!("{chosen} takes {ratio:.2} times {other}");
        match (finding.is_confirmed, against) {
            (false, _) if self.was_busy => {
                format!("{takes}, but other work was running, so this may be its effect")
            }
            (false, _) => format!("{takes}, but there were too few further launches to decide"),
            (true, Baseline::Recorded) => {
                let because = self.explain_slowdown(finding);
                format!(
                    "{takes}, in {}{because}",
                    format_counted(launches, "launch")
                )
            }
            (true, _) => format!("{takes}, in {}", format_counted(launches, "launch")),
        }
    }

    /// Whether the algorithm or everything became slower, as far as the default's time shows it.
    fn judge_slowdown(&self, finding: &Finding) -> Slowdown {
        match self.default_drift() {
            None => Slowdown::Unclear,
            Some(_) if self.point.keeps_default() => Slowdown::Everything,
            // The default's drift is nearer to that of the chosen candidate than to 1, and explains it.
            Some(drift)
                if drift > finding.ratio.sqrt() && finding.ratio <= drift * finding.bound =>
            {
                Slowdown::Everything
            }
            Some(drift) if drift <= finding.bound => Slowdown::Algorithm,
            Some(_) => Slowdown::Unclear,
        }
    }

    /// A clause that says whether the algorithm or everything became slower, if the default's time shows it.
    fn explain_slowdown(&self, finding: &Finding) -> String {
        let Some(drift) = self.default_drift() else {
            return String::new();
        };
        let default = format!("the default takes {drift:.2} times its time in the table");
        match self.judge_slowdown(finding) {
            Slowdown::Everything if self.point.keeps_default() => {
                ": the library or the machine became slower".to_owned()
            }
            Slowdown::Everything => {
                format!(": the library or the machine became slower, as {default}")
            }
            Slowdown::Algorithm => format!(": this algorithm became slower, as {default}"),
            Slowdown::Unclear => format!("; {default}"),
        }
    }
}

/// The answer of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// No point is a regression.
    Holds,
    /// At some point the choice fails, another candidate is faster, or the chosen algorithm alone became slower.
    Wrong,
    /// Choices are slower than their times in the table only where the default is, too: the library or the machine
    /// became slower, and nothing shows that another choice would be better.
    SlowerMachine,
    /// It is not known whether the table holds.
    Unknown,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The judged points, in the given order.
    pub points: Vec<CheckedPoint>,
    /// Points that were not judged because ranks were placed in another order.
    pub misplaced: Vec<Misplaced>,
    /// The number of launches requested to decide about suspects, without those that replace others; 0 if there were
    /// none.
    pub further_launches: u32,
    /// As [`LaunchTimes::busy`], over all launches.
    pub busy: Option<Warning>,
    /// As [`LaunchTimes::steered`].
    pub steered: Option<Warning>,
    /// As [`LaunchTimes::tested_on`], of the first launches.
    pub tested_on: Option<TestedOn>,
}

impl Checked {
    /// The number of points in a state.
    pub fn count_points_in(&self, state: PointState) -> usize {
        let states = self.points.iter().map(CheckedPoint::state);
        states.filter(|found| *found == state).count()
    }

    /// The number of points at which it is known if the table holds.
    pub fn count_decided(&self) -> usize {
        let points = self.points.iter();
        points.filter(|point| point.is_decided()).count()
    }

    /// The answer.
    pub fn verdict(&self) -> CheckVerdict {
        let mut regressions = self.points.iter().filter(|point| point.is_regression());
        match self.still_holds() {
            None => CheckVerdict::Unknown,
            Some(true) => CheckVerdict::Holds,
            Some(false) if regressions.all(CheckedPoint::is_slower_machine) => {
                CheckVerdict::SlowerMachine
            }
            Some(false) => CheckVerdict::Wrong,
        }
    }

    /// Whether no point is a regression; `None` if none is known to be and a suspicion is undecided, or if no point is
    /// decided.
    pub fn still_holds(&self) -> Option<bool> {
        let points = || self.points.iter();
        if points().any(CheckedPoint::is_regression) {
            return Some(false);
        }
        let is_open = points().any(CheckedPoint::is_undecided);
        (!is_open && points().any(CheckedPoint::is_decided)).then_some(true)
    }
}

/// The question whether a point's choice is slower than one baseline.
struct Question<'p> {
    point: &'p Point,
    against: Baseline,
    rival: Option<&'p Candidate>,
    bound: f64,
}

impl Question<'_> {
    /// The time of the chosen candidate divided by that of the baseline, launch by launch.
    fn launch_ratios(&self, times: &LaunchTimes) -> Vec<f64> {
        let medians = |candidate| times.launch_medians(&self.point.cell, candidate);
        let chosen = medians(&self.point.chosen);
        match (self.against, self.rival, self.point.recorded) {
            (Baseline::Default, _, _) => paired_ratios(chosen, medians(&Candidate::Default)),
            (Baseline::RunnerUp, Some(rival), _) => paired_ratios(chosen, medians(rival)),
            (Baseline::Recorded, _, Some(recorded)) => {
                let ratios = chosen.iter().map(|(_, seconds)| seconds / recorded.seconds);
                ratios.collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Measures points again, with the default and the runners-up, and finds regressions: choices that fail, or that are
/// significantly slower (with [`crate::LEVEL`] over all points) than the default, the runner-up or their time in the
/// table, by more than the options tolerate. Probes have neither a runner-up nor a time in the table, and are compared
/// with the default only. If other work was running on the machine, no suspicion is decided, and only failures are
/// regressions.
///
/// # Errors
/// If nothing can be launched, or nothing was measured; if ranks were placed in another order than the table's at all
/// points.
pub fn check_points(
    points: &[Point],
    rivals: &Rivals,
    measurer: &mut dyn Measurer,
    options: &CheckOptions,
) -> Result<Checked, GuardError> {
    let all = points.iter().map(|point| (point, rivals.runner_up(point)));
    let first = measurer.measure(&cells_to_measure(all), options.launches)?;
    let (points, misplaced) = first.split_by_rank_order(points)?;
    // A few launches only select suspects; by themselves they would raise false alarms.
    let suspects: Vec<Question<'_>> = points
        .iter()
        .flat_map(|point| questions_about(point, rivals, options))
        .filter(|question| is_suspicious(&question.launch_ratios(&first), question.bound))
        .collect();
    let decision = decide_suspects(
        &suspects,
        |question| (question.point, rivals.runner_up(question.point)),
        |question, times| SuspectRatios {
            ratios: question.launch_ratios(times),
            bound: question.bound,
        },
        measurer,
    )?;
    let busy = first.busy.clone().max(decision.times.busy.clone());
    // The ratio that is told is that of the launches that decided, if there were any.
    let findings = suspects.iter().enumerate().filter_map(|(index, question)| {
        let ratios = &decision.ratios[index];
        let finding = Finding {
            against: question.against,
            ratio: median(ratios).or_else(|| median(&question.launch_ratios(&first)))?,
            bound: question.bound,
            launches: ratios.len() as u32,
            is_confirmed: decision.confirmed[index] && busy.is_none(),
            is_undecided: decision.undecided[index]
                || (decision.confirmed[index] && busy.is_some()),
        };
        Some((question.point, finding))
    });
    let findings: Vec<(&Point, Finding)> = findings.collect();
    // A point may be slower than several times, and all of them are reasons.
    let checked = points.iter().map(|point| {
        let of_point = findings.iter().filter(|(of, _)| std::ptr::eq(*of, point));
        let point_findings = of_point.map(|(_, finding)| *finding).collect();
        let rounds = [&decision.times, &first];
        checked_point(
            point,
            rivals.runner_up(point),
            rounds,
            point_findings,
            options.materiality,
        )
    });
    let checked = checked.collect();
    Ok(Checked {
        points: checked,
        misplaced,
        further_launches: decision.launches,
        busy,
        steered: first.steered.or(decision.times.steered),
        tested_on: first.tested_on,
    })
}

/// The questions about a point.
fn questions_about<'p>(
    point: &'p Point,
    rivals: &'p Rivals,
    options: &CheckOptions,
) -> impl Iterator<Item = Question<'p>> {
    let rival = rivals.runner_up(point);
    let (paired, recorded) = (1.0 + options.materiality, 1.0 + options.tolerance);
    let all = [
        (Baseline::Default, paired, !point.keeps_default()),
        (Baseline::RunnerUp, paired, rival.is_some()),
        (Baseline::Recorded, recorded, point.recorded.is_some()),
    ];
    all.into_iter()
        .filter(|(_, _, is_asked)| *is_asked)
        .map(move |(against, bound, _)| Question {
            point,
            against,
            rival,
            bound,
        })
}

/// The result at a point, with the times of the last launches that measured it; `rounds` has the last launches first.
fn checked_point(
    point: &Point,
    rival: Option<&Candidate>,
    rounds: [&LaunchTimes; 2],
    findings: Vec<Finding>,
    materiality: f64,
) -> CheckedPoint {
    let cell = &point.cell;
    let measured = |times: &&&LaunchTimes| !times.launch_medians(cell, &point.chosen).is_empty();
    let times = rounds.iter().find(measured);
    let seconds = |candidate| times.and_then(|times| times.median_seconds(cell, candidate));
    let broken = rounds
        .iter()
        .find_map(|round| round.failure_of(cell, &point.chosen));
    let paired = times.and_then(|times| {
        let medians = |candidate| times.launch_medians(cell, candidate);
        paired_ratio(
            medians(&point.chosen),
            medians(&Candidate::Default),
            CONFIDENCE,
        )
    });
    let is_wide = paired.is_some_and(|ratio| ratio.interval.high > 1.0 + materiality);
    let is_found = |finding: &Finding| finding.is_confirmed || finding.is_undecided;
    let has_result = broken.is_some() || findings.iter().any(is_found);
    CheckedPoint {
        is_inconclusive: is_wide && !has_result && !point.keeps_default(),
        runner_up: rival.cloned(),
        seconds: seconds(&point.chosen),
        default_seconds: seconds(&Candidate::Default),
        runner_up_seconds: rival.and_then(seconds),
        launches: times.map_or(0, |times| times.launch_medians(cell, &point.chosen).len()) as u32,
        findings,
        broken: broken.map(|broken| broken.message.clone()),
        was_busy: rounds.iter().any(|round| round.busy.is_some()),
        point: point.clone(),
    }
}
