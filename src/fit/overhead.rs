//! What it costs to start a message.

use model::Level;
use vocabulary::ExperimentKind;

use crate::FitError;
use crate::line::Point;
use crate::parameters::{line_parameters, visible};
use results::{Estimate, ParameterEstimate, Status};

/// The `overhead` of a level from bursts and the `alpha` of ping-pongs.
///
/// Of a burst of `k` empty messages and its answer all but the last message take `overhead`, and the
/// last one and the answer `alpha` each: `k t = (k - 1) overhead + 2 alpha`, where `t` is the start of
/// a line through the sizes.
pub(crate) fn fit_overhead(
    level: Level,
    bursts: &[Point],
    alpha: Option<Estimate>,
) -> Result<ParameterEstimate, FitError> {
    let name = |parameter| format!("{}.{parameter}", level.name());
    let Some(known) = alpha else {
        let parameter = name("alpha");
        let status = Status::Needs { parameter };
        return Ok(ParameterEstimate::unknown(name("overhead"), "s", status));
    };
    let names = [(name("overhead"), "s"), (String::new(), "s/byte")];
    let [start, _] = line_parameters(bursts, names)?;
    let Some(found) = start.estimate else {
        return Ok(start);
    };
    let alpha = known.value;
    let messages = f64::from(ExperimentKind::BURST);
    let overhead = |start: f64| (messages * start - 2.0 * alpha) / (messages - 1.0);
    let estimate = Estimate {
        value: overhead(found.value),
        low: overhead(found.low).max(0.0),
        high: overhead(found.high),
        ..found
    };
    if start.status != Status::Identified {
        let estimate = Some(estimate);
        return Ok(ParameterEstimate { estimate, ..start });
    }
    let mut judged = ParameterEstimate::judged(start.name, start.unit, estimate);
    if !known.is_narrow() {
        // Most launches agree on `alpha` all the same; with that of the others the interval says nothing.
        judged.status = Status::Identified;
    }
    if estimate.value > alpha {
        let status = Status::AboveAlpha { alpha };
        return Ok(ParameterEstimate { status, ..judged });
    }
    let share = (estimate.value / found.value).max(0.0);
    Ok(visible(judged, share))
}
