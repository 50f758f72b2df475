//! Whether a table still holds.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use statistics::{median, paired_ratios};
use vocabulary::Candidate;

use crate::point::cells;
use crate::suspects::{confirmed, is_suspicious, launches_to_decide};
use crate::{GuardError, Measurer, Misplaced, Point, Rivals, Times};

/// When a table no longer holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckOptions {
    /// Launches that look for suspects.
    pub launches: u32,
    /// How much longer than default and runner-up what is chosen may take, as a share.
    pub materiality: f64,
    /// How much longer than recorded in the table it may take: measurements of different days, which no
    /// launch has in common, differ by more.
    pub tolerance: f64,
}

/// What the chosen candidate is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The library's default, in the same launches.
    Default,
    /// The best other candidate when the table was made, in the same launches.
    RunnerUp,
    /// The time that stands in the table.
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

/// A suspect, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Finding {
    /// What the chosen candidate seemed slower than.
    pub against: Baseline,
    /// Its time divided by that of the other: the median of the launches that decided, or of the first ones
    /// if none did.
    pub ratio: f64,
    /// What the ratio may not exceed.
    pub bound: f64,
    /// Launches that decided.
    pub launches: u32,
    /// Whether it is slower for certain.
    #[serde(rename = "confirmed")]
    pub is_confirmed: bool,
    /// Whether time was up before it could have been.
    #[serde(rename = "undecided")]
    pub is_undecided: bool,
}

/// What was found at a point. Times are medians over launches in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedPoint {
    /// Where.
    pub point: Point,
    /// The best other candidate when the table was made, if it is known.
    pub runner_up: Option<Candidate>,
    /// The chosen candidate's time; absent if it was not measured.
    pub seconds: Option<f64>,
    /// The default's.
    pub default_seconds: Option<f64>,
    /// The runner-up's.
    pub runner_up_seconds: Option<f64>,
    /// Launches that these are from.
    pub launches: u32,
    /// The suspicions.
    pub findings: Vec<Finding>,
    /// How the chosen candidate failed.
    pub broken: Option<String>,
}

impl CheckedPoint {
    /// Whether the table does not hold here.
    pub fn is_regression(&self) -> bool {
        self.broken.is_some() || self.confirmed().next().is_some()
    }

    /// What is certain.
    pub fn confirmed(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_confirmed)
    }

    /// Whether time was up before it was certain that the table does not hold here.
    pub fn is_undecided(&self) -> bool {
        let mut findings = self.findings.iter();
        !self.is_regression() && findings.any(|finding| finding.is_undecided)
    }

    /// Whether anything can be said.
    pub fn is_measured(&self) -> bool {
        self.broken.is_some() || self.seconds.is_some()
    }

    /// The default's time divided by that recorded: near 1, the machine is as fast as it was.
    pub fn default_drift(&self) -> Option<f64> {
        let recorded = self.point.recorded?.default_seconds;
        Some(self.default_seconds? / recorded)
    }

    /// What became slower, as a sentence without a full stop, for each certain finding.
    pub fn reasons(&self) -> Vec<String> {
        let chosen = &self.point.chosen;
        let broken = self
            .broken
            .iter()
            .map(|how| format!("{chosen} fails ({how})"));
        let reason = |finding: &Finding| {
            let Finding {
                against,
                ratio,
                launches,
                ..
            } = *finding;
            let whom = match (against, &self.runner_up) {
                (Baseline::RunnerUp, Some(rival)) => format!("{rival}, the runner-up"),
                _ => against.to_string(),
            };
            let because = match against {
                Baseline::Recorded => self.because(ratio),
                _ => String::new(),
            };
            format!("{chosen} takes {ratio:.2} times {whom}, in {launches} launches{because}")
        };
        broken.chain(self.confirmed().map(reason)).collect()
    }

    /// Whether it is the algorithm or everything that became slower, as far as the default tells.
    fn because(&self, ratio: f64) -> String {
        match self.default_drift() {
            _ if self.point.keeps_default() => {
                ": the library or the machine became slower".to_owned()
            }
            // Nearer to the chosen one's factor than to none.
            Some(drift) if drift > ratio.sqrt() => format!(
                ": the library or the machine became slower, as the default takes {drift:.2} times its own"
            ),
            Some(drift) => format!(
                ": this algorithm became slower, as the default takes {drift:.2} times its own"
            ),
            None => String::new(),
        }
    }
}

/// What checking a table found.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The points, as they were given.
    pub points: Vec<CheckedPoint>,
    /// Points that were not judged, as ranks stood in another order.
    pub misplaced: Vec<Misplaced>,
    /// Launches that were asked for to decide about suspects; 0 without any.
    pub further_launches: u32,
}

impl Checked {
    /// Whether the table holds wherever it was looked at.
    pub fn holds(&self) -> bool {
        !self.points.iter().any(CheckedPoint::is_regression)
    }
}

/// Whether what a point chooses is slower than something.
struct Question<'p> {
    point: &'p Point,
    against: Baseline,
    rival: Option<&'p Candidate>,
    bound: f64,
}

impl Question<'_> {
    /// The time of the chosen candidate divided by that of the other, launch by launch.
    fn ratios(&self, times: &Times) -> Vec<f64> {
        let of = |candidate| times.of(&self.point.cell, candidate);
        let chosen = of(&self.point.chosen);
        match (self.against, self.rival, self.point.recorded) {
            (Baseline::Default, _, _) => paired_ratios(chosen, of(&Candidate::Default)),
            (Baseline::RunnerUp, Some(rival), _) => paired_ratios(chosen, of(rival)),
            (Baseline::Recorded, _, Some(recorded)) => {
                let ratios = chosen.iter().map(|(_, seconds)| seconds / recorded.seconds);
                ratios.collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Measures points again, what they choose beside the default and the runners-up, and tells where the table
/// does not hold: where what it chooses is slower than one of these, or than it was, significantly (with
/// [`crate::LEVEL`] over all) and by more than the options allow; or fails. Of a probe neither runner-up nor
/// recorded time is known: what is chosen there must not be slower than the default.
///
/// # Errors
/// If nothing can be launched, or nothing was measured; if ranks stood in another order than the table's
/// everywhere.
pub fn check(
    points: &[Point],
    rivals: &Rivals,
    measurer: &mut dyn Measurer,
    options: &CheckOptions,
) -> Result<Checked, GuardError> {
    let all = points.iter().map(|point| (point, rivals.of(point)));
    let first = measurer.measure(&cells(all), options.launches)?;
    if first.medians.is_empty() && first.broken.is_empty() {
        return Err(GuardError::NothingMeasured);
    }
    let (points, misplaced) = first.in_order(points)?;
    let questions: Vec<Question<'_>> = points
        .iter()
        .flat_map(|point| questions(point, rivals, options))
        .collect();
    let mut suspects = questions;
    suspects.retain(|question| is_suspicious(&question.ratios(&first), question.bound));
    let (mut further, mut further_launches) = (Times::default(), 0);
    if !suspects.is_empty() {
        further_launches = launches_to_decide(suspects.len());
        let again = suspects
            .iter()
            .map(|question| (question.point, rivals.of(question.point)));
        further = measurer.measure(&cells(again), further_launches)?;
    }
    let ratios = |question: &Question<'_>| (question.ratios(&further), question.bound);
    let ratios: Vec<(Vec<f64>, f64)> = suspects.iter().map(ratios).collect();
    let verdicts = confirmed(&ratios);
    let findings: Vec<(&Point, Finding)> = suspects
        .iter()
        .zip(ratios.iter().zip(verdicts))
        .filter_map(|(question, ((ratios, bound), is_confirmed))| {
            let finding = Finding {
                against: question.against,
                ratio: median(ratios).or_else(|| median(&question.ratios(&first)))?,
                bound: *bound,
                launches: ratios.len() as u32,
                is_confirmed,
                is_undecided: !is_confirmed && (ratios.len() as u32) < further_launches,
            };
            Some((question.point, finding))
        })
        .collect();
    let checked = points.iter().map(|point| {
        let of_point = findings.iter().filter(|(of, _)| std::ptr::eq(*of, point));
        let findings = of_point.map(|(_, finding)| *finding).collect();
        checked_point(point, rivals.of(point), [&further, &first], findings)
    });
    Ok(Checked {
        points: checked.collect(),
        misplaced,
        further_launches,
    })
}

/// What is asked about a point.
fn questions<'p>(
    point: &'p Point,
    rivals: &'p Rivals,
    options: &CheckOptions,
) -> impl Iterator<Item = Question<'p>> {
    let rival = rivals.of(point);
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

/// The times are those of the last launches that measured the point; `rounds` are the last ones first.
fn checked_point(
    point: &Point,
    rival: Option<&Candidate>,
    rounds: [&Times; 2],
    findings: Vec<Finding>,
) -> CheckedPoint {
    let cell = &point.cell;
    let measured = |times: &&&Times| !times.of(cell, &point.chosen).is_empty();
    let times = rounds.iter().find(measured);
    let medians = |candidate| times.map_or(&[][..], |times| times.of(cell, candidate));
    let seconds = |candidate| {
        let seconds: Vec<f64> = medians(candidate)
            .iter()
            .map(|(_, seconds)| *seconds)
            .collect();
        median(&seconds)
    };
    let broken = rounds
        .iter()
        .find_map(|times| times.broken(cell, &point.chosen));
    CheckedPoint {
        runner_up: rival.cloned(),
        seconds: seconds(&point.chosen),
        default_seconds: seconds(&Candidate::Default),
        runner_up_seconds: rival.and_then(seconds),
        launches: medians(&point.chosen).len() as u32,
        findings,
        broken: broken.map(|broken| broken.message.clone()),
        point: point.clone(),
    }
}
