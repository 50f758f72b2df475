//! The cost of combining data as it arrives.

use std::collections::BTreeMap;

use model::{Level, Link};
use vocabulary::{Datatype, Operator};

use crate::experiments::Messages;
use crate::line::Point;
use results::{CONFIDENCE, Estimate, ParameterEstimate, Status};

/// The `gamma` of each datatype and operator, as `<level>.gamma.<datatype>.<operator>`: the time per byte by which
/// messages that are combined take longer than those of the same turn and size that are only received.
///
/// Sizes below `alpha / beta` do not count, since latency dominates their time. The estimate is the median over turns
/// of the medians of each turn. It is used even if its interval is wide, because the difference of two times is less
/// certain than either of them; a negative estimate becomes 0.
pub(crate) fn gammas_of_arrivals(
    level: Level,
    messages: &Messages,
    link: Option<&Link>,
) -> Vec<ParameterEstimate> {
    let gamma = |((datatype, operator), points): (&(Datatype, Operator), &Vec<Point>)| {
        let [datatype, operator] = [datatype.name(), operator.name()];
        let name = format!("{}.gamma.{datatype}.{operator}", level.name());
        let Some(link) = link else {
            return ParameterEstimate::unknown(name, "s/byte", Status::needs_link(level));
        };
        match estimate(points, &messages.ping_pongs, link.alpha / link.beta) {
            Some(estimate) => ParameterEstimate {
                name,
                unit: "s/byte",
                estimate: Some(estimate),
                status: Status::Identified,
            },
            None => {
                let (sizes, needed) = (0, 1);
                let status = Status::TooFewSizes { sizes, needed };
                ParameterEstimate::unknown(name, "s/byte", status)
            }
        }
    };
    messages.combines.iter().map(gamma).collect()
}

fn estimate(combined: &[Point], received: &[Point], least_bytes: f64) -> Option<Estimate> {
    let mut pairs: BTreeMap<u32, Vec<(&Point, &Point)>> = BTreeMap::new();
    for point in combined.iter().filter(|point| point.bytes >= least_bytes) {
        let same = |p: &&Point| (p.launch, p.bytes) == (point.launch, point.bytes);
        if let Some(received) = received.iter().find(same) {
            pairs
                .entry(point.launch)
                .or_default()
                .push((point, received));
        }
    }
    let of_launch = |pairs: &Vec<(&Point, &Point)>| {
        let rates = pairs.iter().map(|(combined, received)| {
            ((combined.seconds - received.seconds) / combined.bytes).max(0.0)
        });
        statistics::median(&rates.collect::<Vec<_>>())
    };
    let medians: Vec<f64> = pairs.values().filter_map(of_launch).collect();
    let value = statistics::median(&medians)?;
    let interval = statistics::median_interval(&medians, CONFIDENCE)?;
    let errors = pairs.values().flatten().map(|(combined, received)| {
        ((received.seconds + value * combined.bytes) / combined.seconds - 1.0).abs()
    });
    Some(Estimate {
        value,
        low: interval.low,
        high: interval.high,
        coverage: interval.coverage,
        residual: statistics::median(&errors.collect::<Vec<_>>())?,
    })
}
