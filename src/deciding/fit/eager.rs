//! The size up to which messages are sent without waiting for their receivers.

use std::collections::BTreeMap;

use model::Level;
use vocabulary::ExperimentKind;

use crate::line::OperationTime;
use crate::parameters::median_estimate;
use results::{ParameterEstimate, Status};

/// Estimates the `eager_limit` of a level from sends to late receivers and the line of the ping-pongs.
///
/// A send has waited for its receiver if it takes longer than the message plus half of the receiver's delay. The limit
/// of a turn is the largest size up to which no send has waited; the true limit lies between that and the next measured
/// size.
pub(crate) fn fit_eager_limit(
    level: Level,
    lates: &[OperationTime],
    line: Option<(f64, f64)>,
) -> ParameterEstimate {
    let name = format!("{}.eager_limit", level.name());
    let unknown = |status| ParameterEstimate::unknown(name.clone(), "byte", status);
    let Some((alpha, beta)) = line else {
        return unknown(Status::needs_link(level));
    };
    let has_waited = |point: &OperationTime| {
        let message = alpha + beta * point.bytes;
        point.seconds > message + 0.5 * ExperimentKind::LATE_SECONDS
    };
    let mut turns: BTreeMap<u32, Vec<OperationTime>> = BTreeMap::new();
    for point in lates {
        turns.entry(point.launch).or_default().push(*point);
    }
    let limits: Vec<f64> = turns
        .into_values()
        .map(|mut points| {
            points.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
            let eager = points.iter().take_while(|point| !has_waited(point));
            eager.last().map_or(0.0, |point| point.bytes)
        })
        .collect();
    let Some(estimate) = median_estimate(&limits) else {
        return unknown(Status::NO_SIZES);
    };
    let value = estimate.value;
    let sizes = || lates.iter().map(|point| point.bytes as u64);
    if value == 0.0 {
        let bytes = sizes().min().unwrap_or(0);
        return unknown(Status::NoneEager { bytes });
    }
    if sizes().max() <= Some(value as u64) {
        let bytes = value as u64;
        return unknown(Status::AllEager { bytes });
    }
    ParameterEstimate::from_estimate(name, "byte", estimate)
}
