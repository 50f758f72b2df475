//! Validation: the speed-ups that a table gives.

use statistics::{PairedRatio, paired_ratio, paired_ratios};
use thiserror::Error;
use vocabulary::defaults::CONFIDENCE;
use vocabulary::{Candidate, Warning};

use crate::point::cells_to_measure;
use crate::suspects::{SuspectRatios, decide_suspects, fewest_launches};
use crate::{GuardError, LaunchTimes, Measurer, Misplaced, Point, TestedOn};

/// Options of a validation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValidateOptions {
    /// Launches that measure all points.
    pub launches: u32,
    /// The largest extra time over the default, as a share, that does not count as slower.
    pub materiality: f64,
    /// The smallest extra time over the default, as a share, that matters: the campaign's materiality. If the interval
    /// of a point's speed-up does not exclude a larger loss, the point is not judged the same.
    pub material_loss: f64,
}

/// The result of comparing a point's choice with the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The choice is significantly faster: the 95 % interval of its speed-up lies above 1.
    Faster,
    /// The two are statistically indistinguishable in enough launches, and a material loss is excluded.
    Same,
    /// Times vary so much that nothing is shown: neither a difference nor that there is no material loss.
    Inconclusive,
    /// The choice is significantly slower in the deciding launches.
    Slower,
    /// There were too few launches with valid times of both for a result.
    TooFew,
    /// The choice seems slower, but time was up before that was significant.
    Undecided,
    /// The choice fails, with this message.
    Broken(String),
    /// There are no times to compare, for this reason.
    NotMeasured(NoTimes),
}

/// The reason why a point has no times to compare.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoTimes {
    /// Time was up before the point was measured.
    #[error("time was up")]
    OutOfTime,
    /// The library's default fails there, with this message.
    #[error("the default fails ({0})")]
    DefaultFails(String),
    /// No launch has valid times of both the default and the choice.
    #[error("no launch has valid times of both the default and the chosen candidate")]
    Unpaired,
}

impl Judgement {
    /// The name used in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Same => "same",
            Self::Inconclusive => "inconclusive",
            Self::Slower => "slower",
            Self::TooFew => "too_few_launches",
            Self::Undecided => "undecided",
            Self::Broken(_) => "broken",
            Self::NotMeasured(_) => "not_measured",
        }
    }
}

/// The result at a point. Times are medians over launches in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedPoint {
    /// The point.
    pub point: Point,
    /// The default's time divided by that of the choice, paired within launches; for a suspect, within the deciding
    /// launches.
    pub speedup: Option<PairedRatio>,
    /// The time of the choice.
    pub seconds: Option<f64>,
    /// The time of the default.
    pub default_seconds: Option<f64>,
    /// The conclusion.
    pub judgement: Judgement,
}

impl ValidatedPoint {
    /// Whether the default would be the better choice.
    pub fn is_wrong(&self) -> bool {
        matches!(self.judgement, Judgement::Slower | Judgement::Broken(_))
    }
}

/// Speed-ups over all points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedupSummary {
    /// The number of points that were measured in enough launches.
    pub points: usize,
    /// Geometric mean of these points' speed-ups.
    pub geometric_mean: f64,
    /// The largest of them.
    pub best: f64,
    /// The smallest of them.
    pub worst: f64,
}

/// The result of a validation.
#[derive(Clone, Debug, PartialEq)]
pub struct Validated {
    /// The judged points, in the given order.
    pub points: Vec<ValidatedPoint>,
    /// Points that were not judged because ranks were placed in another order.
    pub misplaced: Vec<Misplaced>,
    /// The number of launches requested to decide about suspects; 0 if there were none.
    pub further_launches: u32,
    /// As [`LaunchTimes::busy`], over all launches.
    pub busy: Option<Warning>,
    /// As [`LaunchTimes::steered`].
    pub steered: Option<Warning>,
    /// As [`LaunchTimes::tested_on`], of the first launches.
    pub tested_on: Option<TestedOn>,
}

impl Validated {
    /// The number of points with the judgement of this [`Judgement::name`].
    pub fn count_judged(&self, name: &str) -> usize {
        let judged = self.points.iter().map(|point| point.judgement.name());
        judged.filter(|judged| *judged == name).count()
    }

    /// Whether the default would not be the better choice at any point.
    pub fn is_never_wrong(&self) -> bool {
        !self.points.iter().any(ValidatedPoint::is_wrong)
    }

    /// The speed-ups over the points that were measured in enough launches; `None` if there are none.
    pub fn speedup_summary(&self) -> Option<SpeedupSummary> {
        let enough = self
            .points
            .iter()
            .filter(|point| point.judgement != Judgement::TooFew);
        let speedups = enough.filter_map(|point| point.speedup);
        let medians: Vec<f64> = speedups.map(|speedup| speedup.median).collect();
        Some(SpeedupSummary {
            points: medians.len(),
            geometric_mean: statistics::geometric_mean(medians.iter().copied())?,
            best: medians.iter().copied().fold(0.0, f64::max),
            worst: medians.iter().copied().fold(f64::INFINITY, f64::min),
        })
    }
}

/// Measures points with the default and with the table's choices. Launches that lost a point are replaced until it has
/// enough of them, while time is left. Points that seem slower by the interval of their speed-up are measured again,
/// and count as slower if these launches show it significantly (with [`crate::LEVEL`] over all points).
///
/// # Errors
/// If nothing can be launched, or nothing was measured at any of the points; if ranks were placed in another order than
/// the table's at all points.
pub fn validate_points(
    points: &[Point],
    measurer: &mut dyn Measurer,
    options: &ValidateOptions,
) -> Result<Validated, GuardError> {
    if points.is_empty() {
        return Ok(Validated {
            points: Vec::new(),
            misplaced: Vec::new(),
            further_launches: 0,
            busy: None,
            steered: None,
            tested_on: None,
        });
    }
    let mut first = measurer.measure(
        &cells_to_measure(points.iter().map(|point| (point, None))),
        options.launches,
    )?;
    // Launches with the ranks in another order show nothing about rules for this one.
    let (points, misplaced) = first.split_by_rank_order(points)?;
    if options.launches >= fewest_launches() {
        replace_lost_launches(&points, &mut first, measurer)?;
    }
    // What seems slower is measured again, and only these launches decide: suspects were selected for their times.
    let bound = 1.0 + options.materiality;
    let suspects: Vec<&Point> = points
        .iter()
        .filter(|point| {
            paired_speedup(point, &first).is_some_and(|s| s.interval.high < 1.0 / bound)
        })
        .collect();
    let ratios = |point: &&Point, times: &LaunchTimes| {
        let medians = |candidate| times.launch_medians(&point.cell, candidate);
        SuspectRatios {
            ratios: paired_ratios(medians(&point.chosen), medians(&Candidate::Default)),
            bound,
        }
    };
    let decision = decide_suspects(&suspects, |point| (*point, None), ratios, measurer)?;
    // Other points are judged by the first launches.
    let judged = points.iter().map(|point| {
        let place = suspects
            .iter()
            .position(|suspect| std::ptr::eq(*suspect, point));
        let verdict =
            place.map(|index| judge_suspect(decision.confirmed[index], decision.undecided[index]));
        let rounds = [&decision.times, &first];
        judge_point(point, rounds, verdict, options.material_loss)
    });
    let judged = judged.collect();
    Ok(Validated {
        points: judged,
        misplaced,
        further_launches: decision.launches,
        busy: first.busy.max(decision.times.busy),
        steered: first.steered.or(decision.times.steered),
        tested_on: first.tested_on,
    })
}

fn judge_suspect(is_slower: bool, is_undecided: bool) -> Judgement {
    if is_slower {
        Judgement::Slower
    } else if is_undecided {
        Judgement::Undecided
    } else {
        Judgement::Same
    }
}

/// Measures points again if some launches lack valid times of both candidates, so that they have enough launches.
fn replace_lost_launches(
    points: &[Point],
    times: &mut LaunchTimes,
    measurer: &mut dyn Measurer,
) -> Result<(), GuardError> {
    let missing = |point: &Point| {
        let found = paired_speedup(point, times)?;
        let lacks = fewest_launches().saturating_sub(found.launches);
        (lacks > 0).then_some(lacks)
    };
    let lacking: Vec<(&Point, u32)> = points
        .iter()
        .filter_map(|point| Some((point, missing(point)?)))
        .collect();
    let most = lacking.iter().map(|(_, lacks)| *lacks).max();
    if let Some(launches) = most.filter(|_| !times.is_out_of_time) {
        let lacking = cells_to_measure(lacking.iter().map(|(point, _)| (*point, None)));
        times.add_later(measurer.measure(&lacking, launches)?);
    }
    Ok(())
}

/// Whether the speed-up is significant, which needs enough launches.
fn is_faster(speedup: &PairedRatio) -> bool {
    speedup.interval.low > 1.0 && speedup.interval.coverage >= CONFIDENCE
}

fn paired_speedup(point: &Point, times: &LaunchTimes) -> Option<PairedRatio> {
    let medians = |candidate| times.launch_medians(&point.cell, candidate);
    paired_ratio(
        medians(&Candidate::Default),
        medians(&point.chosen),
        CONFIDENCE,
    )
}

/// The reason why a point whose choice does not fail has no times to compare.
fn reason_for_no_times(point: &Point, rounds: [&LaunchTimes; 2]) -> NoTimes {
    let default = rounds
        .iter()
        .find_map(|times| times.failure_of(&point.cell, &Candidate::Default));
    match default {
        Some(broken) => NoTimes::DefaultFails(broken.message.clone()),
        None if rounds.iter().any(|times| times.is_out_of_time) => NoTimes::OutOfTime,
        None => NoTimes::Unpaired,
    }
}

/// Judges a point by the last launches that measured it; `rounds` has the last launches first.
fn judge_point(
    point: &Point,
    rounds: [&LaunchTimes; 2],
    verdict: Option<Judgement>,
    material_loss: f64,
) -> ValidatedPoint {
    let found = rounds
        .iter()
        .find_map(|times| Some((times, paired_speedup(point, times)?)));
    let seconds =
        |candidate| found.and_then(|(times, _)| times.median_seconds(&point.cell, candidate));
    let speedup = found.map(|(_, speedup)| speedup);
    let broken = rounds
        .iter()
        .find_map(|times| times.failure_of(&point.cell, &point.chosen));
    let judgement = match (broken, speedup) {
        (Some(broken), _) => Judgement::Broken(broken.message.clone()),
        (None, None) => Judgement::NotMeasured(reason_for_no_times(point, rounds)),
        (None, Some(speedup)) if is_faster(&speedup) => Judgement::Faster,
        (None, Some(speedup)) => match verdict {
            Some(verdict) if verdict != Judgement::Same => verdict,
            None if speedup.interval.coverage < CONFIDENCE => Judgement::TooFew,
            _ if speedup.interval.low * (1.0 + material_loss) < 1.0 => Judgement::Inconclusive,
            _ => Judgement::Same,
        },
    };
    ValidatedPoint {
        speedup,
        seconds: seconds(&point.chosen),
        default_seconds: seconds(&Candidate::Default),
        judgement,
        point: point.clone(),
    }
}
