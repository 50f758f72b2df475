//! The port that the ranks of a node share for messages to other nodes.

use std::collections::BTreeMap;

use crate::FitError;
use crate::line::OperationTime;
use crate::overhead::fit_burst_interval;
use crate::parameters::line_parameters;
use results::{Estimate, ParameterEstimate, Status};

/// The factor by which all ranks at once must be slower than one to show that they share the port.
const SHARED: f64 = 1.25;

/// The `injection_beta` from pairs of ranks that send between two nodes at once.
///
/// A byte of each of `k` messages takes `max(beta, k injection_beta)`. The measurement with the most pairs determines
/// the parameter, if it is slower than that of a single pair.
pub(crate) fn fit_injection_beta(
    pairs: &BTreeMap<u32, Vec<OperationTime>>,
) -> Result<Option<ParameterEstimate>, FitError> {
    let Some((&most, points)) = pairs.last_key_value() else {
        return Ok(None);
    };
    let name = "injection_beta".to_owned();
    let rate =
        |measured| line_parameters(measured, [(String::new(), "s"), (name.clone(), "s/byte")]);
    let alone = match pairs.get(&1) {
        Some(of_one) if most > 1 => rate(of_one)?[1].value(),
        _ => None,
    };
    let Some(alone) = alone else {
        let parameter = "what a byte takes without and with others".to_owned();
        let status = Status::Needs { parameter };
        return Ok(Some(ParameterEstimate::unknown(name, "s/byte", status)));
    };
    let [_, together] = rate(points)?;
    Ok(Some(shared_port_estimate(together, most, alone, "s/byte")))
}

/// The `injection_gap`, from bursts of as many ranks of a node as possible and the network's `alpha` and `overhead`.
///
/// Each of `k` ranks that send at once starts a message every `max(overhead, k injection_gap)`.
pub(crate) fn fit_injection_gap(
    bursts: &BTreeMap<u32, Vec<OperationTime>>,
    alpha: Option<Estimate>,
    overhead: Option<f64>,
) -> Result<Option<ParameterEstimate>, FitError> {
    let Some((&most, points)) = bursts.last_key_value() else {
        return Ok(None);
    };
    let name = "injection_gap".to_owned();
    let (Some(alpha), Some(alone)) = (alpha, overhead) else {
        let parameter = "network.alpha and network.overhead".to_owned();
        let status = Status::Needs { parameter };
        return Ok(Some(ParameterEstimate::unknown(name, "s", status)));
    };
    let (together, _) = fit_burst_interval(name, points, &alpha)?;
    Ok(Some(shared_port_estimate(together, most, alone, "s")))
}

/// A rank's share of a time that several ranks need together, unless it is hardly longer than the time `alone`.
fn shared_port_estimate(
    together: ParameterEstimate,
    ranks: u32,
    alone: f64,
    unit: &'static str,
) -> ParameterEstimate {
    let factor = together.value().map(|together| together / alone);
    let shared = together.scaled_to_unit(1.0 / f64::from(ranks), unit);
    match factor {
        Some(factor) if factor < SHARED => {
            let status = Status::NotShared { ranks, factor };
            ParameterEstimate { status, ..shared }
        }
        _ => shared,
    }
}
