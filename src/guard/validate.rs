//! What a table is worth.

use statistics::{PairedRatio, median, paired_ratio, paired_ratios};
use thiserror::Error;
use vocabulary::Candidate;

use crate::point::cells;
use crate::suspects::{confirmed, launches_to_decide};
use crate::{GuardError, Measurer, Misplaced, Point, Times};

/// How a table is validated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValidateOptions {
    /// Launches that measure all points.
    pub launches: u32,
    /// How much longer than the default something may take without being called slower, as a share.
    pub materiality: f64,
}

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// What launches say of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// What is chosen is faster than the default: the interval of its speed-up lies above 1, with 95 %.
    Faster,
    /// There were enough launches, and they do not tell the two apart.
    Same,
    /// Slower for certain, after further launches.
    Slower,
    /// There were too few launches to tell anything.
    TooFew,
    /// The choice seems slower, and time was up before that was certain.
    Undecided,
    /// The choice fails, with this message.
    Broken(String),
    /// There are no times to compare, for this reason.
    NotMeasured(Silence),
}

/// Why a point has no times to compare.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Silence {
    /// Time was up before.
    #[error("time was up")]
    OutOfTime,
    /// The library's default fails there, as said here.
    #[error("the default fails ({0})")]
    DefaultFails(String),
    /// No launch has valid times of both the default and what is chosen.
    #[error("no launch has valid times of both the default and what is chosen")]
    Apart,
}

impl Judgement {
    /// The name used in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Same => "same",
            Self::Slower => "slower",
            Self::TooFew => "too_few_launches",
            Self::Undecided => "undecided",
            Self::Broken(_) => "broken",
            Self::NotMeasured(_) => "not_measured",
        }
    }
}

/// What was found at a point. Times are medians over launches in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedPoint {
    /// Where.
    pub point: Point,
    /// The default's time divided by that of what is chosen, paired by launches; of a suspect by those that
    /// decided.
    pub speedup: Option<PairedRatio>,
    /// The time of what is chosen.
    pub seconds: Option<f64>,
    /// The default's.
    pub default_seconds: Option<f64>,
    /// What follows.
    pub judgement: Judgement,
}

impl ValidatedPoint {
    /// Whether the default would be the better choice.
    pub fn is_wrong(&self) -> bool {
        matches!(self.judgement, Judgement::Slower | Judgement::Broken(_))
    }
}

/// All points together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedupSummary {
    /// The number of points that were measured in enough launches.
    pub points: usize,
    /// Geometric mean of the measured points' speed-ups.
    pub geometric_mean: f64,
    /// The largest.
    pub best: f64,
    /// The smallest.
    pub worst: f64,
}

/// What validating a table found.
#[derive(Clone, Debug, PartialEq)]
pub struct Validated {
    /// The points, as they were given.
    pub points: Vec<ValidatedPoint>,
    /// Points that were not judged, as ranks stood in another order.
    pub misplaced: Vec<Misplaced>,
    /// Launches that were asked for to decide about suspects; 0 without any.
    pub further_launches: u32,
}

impl Validated {
    /// How many points were judged like this, by [`Judgement::name`].
    pub fn count(&self, name: &str) -> usize {
        let judged = self.points.iter().map(|point| point.judgement.name());
        judged.filter(|judged| *judged == name).count()
    }

    /// Whether the default would nowhere be the better choice.
    pub fn is_good(&self) -> bool {
        !self.points.iter().any(ValidatedPoint::is_wrong)
    }

    /// The points together that were measured in enough launches; `None` if there are none.
    pub fn summary(&self) -> Option<SpeedupSummary> {
        let told = self
            .points
            .iter()
            .filter(|point| point.judgement != Judgement::TooFew);
        let speedups = told.filter_map(|point| point.speedup);
        let medians: Vec<f64> = speedups.map(|speedup| speedup.median).collect();
        Some(SpeedupSummary {
            points: medians.len(),
            geometric_mean: statistics::geometric_mean(medians.iter().copied())?,
            best: medians.iter().copied().fold(0.0, f64::max),
            worst: medians.iter().copied().fold(f64::INFINITY, f64::min),
        })
    }
}

/// Measures points with the default and with what the table chooses. What seems slower by the interval of its
/// speed-up is measured again, and is slower if these further launches say so for certain (with
/// [`crate::LEVEL`] over all).
///
/// # Errors
/// If nothing can be launched, or nothing was measured though there are points; if ranks stood in another
/// order than the table's at all of them.
pub fn validate(
    points: &[Point],
    measurer: &mut dyn Measurer,
    options: &ValidateOptions,
) -> Result<Validated, GuardError> {
    if points.is_empty() {
        return Ok(Validated {
            points: Vec::new(),
            misplaced: Vec::new(),
            further_launches: 0,
        });
    }
    let first = measurer.measure(
        &cells(points.iter().map(|point| (point, None))),
        options.launches,
    )?;
    if first.medians.is_empty() && first.broken.is_empty() {
        return Err(GuardError::NothingMeasured);
    }
    let (points, misplaced) = first.in_order(points)?;
    let bound = 1.0 + options.materiality;
    let suspects: Vec<&Point> = points
        .iter()
        .filter(|point| speedup(point, &first).is_some_and(|s| s.interval.high < 1.0 / bound))
        .collect();
    let (mut further, mut further_launches) = (Times::default(), 0);
    if !suspects.is_empty() {
        further_launches = launches_to_decide(suspects.len());
        let again = suspects.iter().map(|point| (*point, None));
        further = measurer.measure(&cells(again), further_launches)?;
    }
    let ratios = |point: &&Point| {
        let of = |candidate| further.of(&point.cell, candidate);
        (
            paired_ratios(of(&point.chosen), of(&Candidate::Default)),
            bound,
        )
    };
    let ratios: Vec<(Vec<f64>, f64)> = suspects.iter().map(ratios).collect();
    let verdicts = confirmed(&ratios);
    let verdicts = ratios
        .iter()
        .zip(verdicts)
        .map(|((ratios, _), is_slower)| match is_slower {
            true => Judgement::Slower,
            false if (ratios.len() as u32) < further_launches => Judgement::Undecided,
            false => Judgement::Same,
        });
    let verdicts: Vec<Judgement> = verdicts.collect();
    let judged = points.iter().map(|point| {
        let mut suspected = suspects.iter().zip(&verdicts);
        let verdict = suspected.find(|(suspect, _)| std::ptr::eq(**suspect, point));
        let rounds = [&further, &first];
        judge(point, rounds, verdict.map(|(_, verdict)| verdict.clone()))
    });
    Ok(Validated {
        points: judged.collect(),
        misplaced,
        further_launches,
    })
}

/// Whether it is faster for certain: of too few launches, nothing is certain.
fn is_faster(speedup: &PairedRatio) -> bool {
    speedup.interval.low > 1.0 && speedup.interval.coverage >= CONFIDENCE
}

fn speedup(point: &Point, times: &Times) -> Option<PairedRatio> {
    let of = |candidate| times.of(&point.cell, candidate);
    paired_ratio(of(&Candidate::Default), of(&point.chosen), CONFIDENCE)
}

/// Why a point that does not fail has no times to compare.
fn silence(point: &Point, rounds: [&Times; 2]) -> Silence {
    let default = rounds
        .iter()
        .find_map(|times| times.broken(&point.cell, &Candidate::Default));
    match default {
        Some(broken) => Silence::DefaultFails(broken.message.clone()),
        None if rounds.iter().any(|times| times.is_out_of_time) => Silence::OutOfTime,
        None => Silence::Apart,
    }
}

/// The speed-up is that of the last launches that measured the point; `rounds` are the last ones first.
fn judge(point: &Point, rounds: [&Times; 2], verdict: Option<Judgement>) -> ValidatedPoint {
    let found = rounds
        .iter()
        .find_map(|times| Some((times, speedup(point, times)?)));
    let seconds = |candidate| {
        let (times, _) = found?;
        let medians = times.of(&point.cell, candidate).iter();
        median(&medians.map(|(_, seconds)| *seconds).collect::<Vec<f64>>())
    };
    let speedup = found.map(|(_, speedup)| speedup);
    let broken = rounds
        .iter()
        .find_map(|times| times.broken(&point.cell, &point.chosen));
    let judgement = match (broken, speedup) {
        (Some(broken), _) => Judgement::Broken(broken.message.clone()),
        (None, None) => Judgement::NotMeasured(silence(point, rounds)),
        (None, Some(speedup)) if !is_faster(&speedup) && verdict.is_some() => {
            verdict.unwrap_or(Judgement::Same)
        }
        (None, Some(speedup)) if is_faster(&speedup) => Judgement::Faster,
        (None, Some(speedup)) if speedup.interval.coverage < CONFIDENCE => Judgement::TooFew,
        (None, Some(_)) => Judgement::Same,
    };
    ValidatedPoint {
        speedup,
        seconds: seconds(&point.chosen),
        default_seconds: seconds(&Candidate::Default),
        judgement,
        point: point.clone(),
    }
}
