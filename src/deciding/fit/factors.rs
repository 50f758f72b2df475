//! The times of patterns of messages relative to a single message.

use std::collections::BTreeMap;

use model::{Level, Link};

use crate::FitError;
use crate::line::OperationTime;
use crate::parameters::{line_parameters, median_estimate};
use results::{Estimate, ParameterEstimate, Status};

/// The medians of the ratios to the ping-pong of the same turn and size, below `alpha / beta`
/// (`latency`) and from there on (`bandwidth`), as `<level>.<pattern>_latency` and so on.
pub(crate) fn pattern_factors(
    pattern: &str,
    level: Level,
    points: &[OperationTime],
    ping_pongs: &[OperationTime],
    link: Option<&Link>,
) -> [ParameterEstimate; 2] {
    let names = ["latency", "bandwidth"].map(|part| format!("{}.{pattern}_{part}", level.name()));
    let Some(link) = link else {
        return names.map(|name| ParameterEstimate::unknown(name, "1", Status::needs_link(level)));
    };
    let boundary = link.alpha / link.beta;
    let (small, large): (Vec<OperationTime>, Vec<OperationTime>) = points
        .iter()
        .copied()
        .partition(|point| point.bytes < boundary);
    let [latency, bandwidth] = names;
    [(latency, small), (bandwidth, large)].map(|(name, side)| {
        let factor = fit_factor(name.clone(), &side, ping_pongs);
        factor.unwrap_or_else(|| ParameterEstimate::unknown(name, "1", Status::NO_SIZES))
    })
}

/// The ratio of the times of exchanges or shifts to those of ping-pongs of the same launch and size, if it is certainly
/// above 1.
pub(crate) fn certain_factor_above_one(
    messages: &[OperationTime],
    ping_pongs: &[OperationTime],
) -> Option<f64> {
    let factor = fit_factor(String::new(), messages, ping_pongs)?;
    certain_factor(&factor).filter(|factor| *factor > 1.0)
}

/// The coverage of the interval of three launches.
const CERTAIN: f64 = 0.75;
/// The smallest factor above 1 that measurements can show.
const SEEN: f64 = 1.05;

/// The value of a factor, if it certainly differs from 1.
pub(crate) fn certain_factor(factor: &ParameterEstimate) -> Option<f64> {
    let value = factor.value()?;
    let known = factor.estimate.filter(|known| known.coverage >= CERTAIN)?;
    let is_seen = known.low > 1.0 && value >= SEEN || known.high < 1.0 && value <= 1.0 / SEEN;
    is_seen.then_some(value)
}

/// The ratio of the points' times to those of ping-pongs of the same launch and size.
fn fit_factor(
    name: String,
    points: &[OperationTime],
    ping_pongs: &[OperationTime],
) -> Option<ParameterEstimate> {
    let ratio =
        |point: &OperationTime, ping_pong: &OperationTime| point.seconds / ping_pong.seconds;
    let estimate = median_over_turns(points.iter(), ping_pongs, ratio, |factor, point, other| {
        factor / ratio(point, other) - 1.0
    })?;
    Some(ParameterEstimate::from_estimate(name, "1", estimate))
}

/// The median over turns of each turn's median of `value`, for two messages of the same turn and size, one from each
/// list. `error` is the relative error of the result for such a pair.
pub(crate) fn median_over_turns<'p>(
    points: impl Iterator<Item = &'p OperationTime>,
    others: &[OperationTime],
    value: impl Fn(&OperationTime, &OperationTime) -> f64,
    error: impl Fn(f64, &OperationTime, &OperationTime) -> f64,
) -> Option<Estimate> {
    let mut turns: BTreeMap<u32, Vec<(&OperationTime, &OperationTime)>> = BTreeMap::new();
    for point in points {
        let same = |p: &&OperationTime| (p.launch, p.bytes) == (point.launch, point.bytes);
        if let Some(other) = others.iter().find(same) {
            turns.entry(point.launch).or_default().push((point, other));
        }
    }
    let medians = turns.values().filter_map(|pairs| {
        let values = pairs.iter().map(|(point, other)| value(point, other));
        statistics::median(&values.collect::<Vec<_>>())
    });
    let estimate = median_estimate(&medians.collect::<Vec<_>>())?;
    let pairs = turns.values().flatten();
    let errors = pairs.map(|(point, other)| error(estimate.value, point, other).abs());
    Some(Estimate {
        residual: statistics::median(&errors.collect::<Vec<_>>())?,
        ..estimate
    })
}

/// The time per byte of a line through the times of messages to or from several partners at once, divided by that of
/// messages one after the other.
pub(crate) fn fan_factor(
    pattern: &str,
    level: Level,
    (partners, points): (u32, &[OperationTime]),
    link: Option<&Link>,
) -> Result<ParameterEstimate, FitError> {
    let name = format!("{}.{pattern}.{partners}", level.name());
    let Some(link) = link else {
        let status = Status::needs_link(level);
        return Ok(ParameterEstimate::unknown(name, "1", status));
    };
    let [_, rate] = line_parameters(points, [(String::new(), "s"), (name, "s/byte")])?;
    let factor = 1.0 / (f64::from(partners) * link.beta);
    Ok(rate.scaled_to_unit(factor, "1"))
}
