//! Start and time per byte of a line as parameters, with their uncertainty over launches.

use std::collections::{BTreeMap, BTreeSet};

use statistics::Interval;

use crate::FitError;
use crate::line::{self, Line, OperationTime};
use results::{Estimate, ParameterEstimate, Status};
use vocabulary::defaults::CONFIDENCE;

/// The fewest sizes of a launch: with two, a line of two parameters leaves no residual.
const SIZES_NEEDED: usize = 3;
/// The smallest share of the time that is visible above noise and the line's own error.
const SMALLEST_SHARE: f64 = 0.2;

/// Start and time per byte of a line, under the given names and units.
///
/// Each is the median over launches of the launch's own estimate. A disturbance affects all points of a launch alike,
/// so points of one launch are no independent evidence, and only the spread between launches shows the uncertainty. A
/// launch counts for a parameter if it measured [`SIZES_NEEDED`] sizes and the parameter is visible at one of them.
/// Visibility is judged by the line through all points, so that noise excludes no launch. If no launch counts, as when
/// an interrupted launch measured some sizes and the next one the others, the estimate is the line through all points,
/// as if one launch had measured it.
pub(crate) fn line_parameters(
    points: &[OperationTime],
    names: [(String, &'static str); 2],
) -> Result<[ParameterEstimate; 2], FitError> {
    let unknown = |status: Status| {
        names
            .clone()
            .map(|(name, unit)| ParameterEstimate::unknown(name, unit, status.clone()))
    };
    let sizes = count_sizes(points);
    if sizes < SIZES_NEEDED {
        let needed = SIZES_NEEDED;
        return Ok(unknown(Status::TooFewSizes { sizes, needed }));
    }
    // The line through all points decides which parameters are visible, the same ones in every launch.
    let Some(joint) = line::fit_line(points)? else {
        return Ok(unknown(Status::NotConverged));
    };
    let launches = launch_lines(points, &joint)?;
    // Each launch gives one value: its points are no independent evidence.
    let over_launches = |value: fn(&Line) -> f64, share: fn(&Shares) -> f64| {
        let visible = |(_, shares): &&(Line, Shares)| share(shares) >= SMALLEST_SHARE;
        let values = launches.iter().filter(visible).map(|(line, _)| value(line));
        OverLaunches::from_values(&values.collect::<Vec<_>>(), value(&joint))
    };
    let start = over_launches(|line| line.start, |shares| shares.start);
    let rate = over_launches(|line| line.per_byte, |shares| shares.rate);
    // An estimate that is certain may still be too small to matter, so both are told.
    let residual = median_residual(points, start.value, rate.value);
    let shares = Shares::from_line(points, &joint);
    let judged = |(name, unit), of: OverLaunches, share| {
        let estimate = Estimate {
            value: of.value,
            low: of.interval.low,
            high: of.interval.high,
            coverage: of.interval.coverage,
            residual,
        };
        let mut judged = ParameterEstimate::from_estimate(name, unit, estimate);
        if of.most_agree {
            judged.status = Status::Identified;
        }
        mark_if_negligible(judged, share)
    };
    let [start_name, rate_name] = names;
    Ok([
        judged(start_name, start, shares.start),
        judged(rate_name, rate, shares.rate),
    ])
}

fn count_sizes(points: &[OperationTime]) -> usize {
    let sizes: BTreeSet<u64> = points.iter().map(|point| point.bytes as u64).collect();
    sizes.len()
}

/// The largest parts of the time that the parameters of a line have at any size measured.
struct Shares {
    start: f64,
    rate: f64,
}

impl Shares {
    fn from_line(points: &[OperationTime], line: &Line) -> Self {
        let starts = points.iter().map(|point| line.share_of_start(point.bytes));
        let (least, most) = starts.fold((1.0, 0.0), |(least, most): (f64, f64), share| {
            (least.min(share), most.max(share))
        });
        Self {
            start: most,
            rate: 1.0 - least,
        }
    }
}

/// The line of each launch that measured enough sizes, if its search converges, with the shares that the joint line's
/// parameters have at its sizes.
fn launch_lines(points: &[OperationTime], joint: &Line) -> Result<Vec<(Line, Shares)>, FitError> {
    let mut launches: BTreeMap<u32, Vec<OperationTime>> = BTreeMap::new();
    for point in points {
        launches.entry(point.launch).or_default().push(*point);
    }
    let mut lines = Vec::new();
    for of_launch in launches.values() {
        if count_sizes(of_launch) < SIZES_NEEDED {
            continue;
        }
        if let Some(line) = line::fit_line(of_launch)? {
            lines.push((line, Shares::from_line(of_launch, joint)));
        }
    }
    Ok(lines)
}

/// The median of values of several turns with its interval, without a residual; `None` without values.
pub(crate) fn median_estimate(values: &[f64]) -> Option<Estimate> {
    let interval = statistics::median_interval(values, CONFIDENCE)?;
    Some(Estimate {
        value: statistics::median(values)?,
        low: interval.low,
        high: interval.high,
        coverage: interval.coverage,
        residual: 0.0,
    })
}

/// A parameter's values over launches.
struct OverLaunches {
    value: f64,
    interval: Interval,
    /// Whether most launches agree. A machine may behave differently in some launches, such as a virtual machine after
    /// its processors were moved to other cores. The median is then that of the usual behaviour, like the medians of
    /// collectives' times, although the interval spans both.
    most_agree: bool,
}

/// The largest factor between a value and the median, either way, at which a launch agrees.
const AGREEING: f64 = 1.5;
/// The fewest launches that must agree.
const FEWEST_AGREEING: usize = 4;

impl OverLaunches {
    /// The median with its interval; without values, `joint` with an unknown interval.
    fn from_values(values: &[f64], joint: f64) -> Self {
        let value = statistics::median(values).unwrap_or(joint);
        let is_near = |other: &&f64| (**other / value).ln().abs() <= AGREEING.ln();
        let near = values.iter().filter(is_near).count();
        Self {
            value,
            interval: statistics::median_interval(values, CONFIDENCE)
                .unwrap_or(Interval::single_value(joint)),
            most_agree: near >= FEWEST_AGREEING && 2 * near > values.len(),
        }
    }
}

/// Median absolute relative error over the points of all launches.
fn median_residual(points: &[OperationTime], start: f64, per_byte: f64) -> f64 {
    let line = Line { start, per_byte };
    let errors: Vec<f64> = points
        .iter()
        .map(|point| (line.seconds(point.bytes) / point.seconds - 1.0).abs())
        .collect();
    statistics::median(&errors).unwrap_or(f64::NAN)
}

/// The parameter, marked as negligible if `share`, its largest share of the time at any measured size, is too small to be
/// seen in the measurements. The mark replaces any other status.
pub(crate) fn mark_if_negligible(parameter: ParameterEstimate, share: f64) -> ParameterEstimate {
    if share >= SMALLEST_SHARE {
        return parameter;
    }
    ParameterEstimate {
        status: Status::Negligible { share },
        ..parameter
    }
}
