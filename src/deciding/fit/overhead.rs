//! The overhead of sending a message.

use model::Level;
use vocabulary::ExperimentKind;

use crate::FitError;
use crate::line::OperationTime;
use crate::parameters::{line_parameters, mark_if_negligible};
use results::{Estimate, ParameterEstimate, Status};

/// The `overhead` of a level from bursts and the `alpha` of ping-pongs.
pub(crate) fn fit_overhead(
    level: Level,
    bursts: &[OperationTime],
    alpha: Option<Estimate>,
) -> Result<ParameterEstimate, FitError> {
    let name = |parameter| format!("{}.{parameter}", level.name());
    let Some(alpha) = alpha else {
        let parameter = name("alpha");
        let status = Status::Needs { parameter };
        return Ok(ParameterEstimate::unknown(name("overhead"), "s", status));
    };
    let (found, share) = fit_burst_interval(name("overhead"), bursts, &alpha)?;
    let (Some(estimate), Some(share)) = (found.estimate, share) else {
        return Ok(found);
    };
    if estimate.value > alpha.value {
        let alpha = alpha.value;
        let status = Status::AboveAlpha { alpha };
        return Ok(ParameterEstimate { status, ..found });
    }
    Ok(mark_if_negligible(found, share))
}

/// The time between two messages of a burst, and its share of a message's time if a line through the sizes has a start.
///
/// In a burst of `k` empty messages and an answer, each message but the last takes one interval, and the last message
/// and the answer take `alpha` each: `k t = (k - 1) interval + 2 alpha`, where `t` is the start of a line through the
/// sizes.
pub(crate) fn fit_burst_interval(
    name: String,
    bursts: &[OperationTime],
    alpha: &Estimate,
) -> Result<(ParameterEstimate, Option<f64>), FitError> {
    let [start, _] = line_parameters(bursts, [(name, "s"), (String::new(), "s/byte")])?;
    let Some(found) = start.estimate else {
        return Ok((start, None));
    };
    let messages = f64::from(ExperimentKind::BURST);
    let interval = |seconds: f64| (messages * seconds - 2.0 * alpha.value) / (messages - 1.0);
    let estimate = Estimate {
        value: interval(found.value),
        low: interval(found.low).max(0.0),
        high: interval(found.high),
        ..found
    };
    if start.status != Status::Identified {
        let estimate = Some(estimate);
        return Ok((ParameterEstimate { estimate, ..start }, None));
    }
    let mut judged = ParameterEstimate::from_estimate(start.name, start.unit, estimate);
    if !alpha.is_narrow() {
        // Most launches agree on `alpha`; in the others the interval is meaningless.
        judged.status = Status::Identified;
    }
    let share = (estimate.value / found.value).max(0.0);
    Ok((judged, Some(share)))
}
