//! What the ranks of a node share when they talk to other nodes.

use std::collections::BTreeMap;

use crate::FitError;
use crate::line::Point;
use crate::parameters::line_parameters;
use results::{ParameterEstimate, Status};

/// Sharing is seen if all ranks at once take this much longer than one.
const SHARED: f64 = 1.25;

/// The `injection_beta` from pairs of ranks that send between two nodes at once.
///
/// A byte of each of `k` messages takes `max(beta, k injection_beta)`. The most pairs tell, if they
/// are slower than a single one.
pub(crate) fn fit_injection(
    pairs: &BTreeMap<u32, Vec<Point>>,
) -> Result<Option<ParameterEstimate>, FitError> {
    let Some((&most, points)) = pairs.last_key_value() else {
        return Ok(None);
    };
    let name = "injection_beta".to_owned();
    let rate = |points| line_parameters(points, [(String::new(), "s"), (name.clone(), "s/byte")]);
    let alone = match pairs.get(&1) {
        Some(points) if most > 1 => rate(points)?[1].value(),
        _ => None,
    };
    let Some(alone) = alone else {
        let parameter = "what a byte takes without and with others".to_owned();
        let status = Status::Needs { parameter };
        return Ok(Some(ParameterEstimate::unknown(name, "s/byte", status)));
    };
    let [_, together] = rate(points)?;
    let factor = together.value().map(|together| together / alone);
    let shared = together.scaled(1.0 / f64::from(most), "s/byte");
    Ok(Some(match factor {
        Some(factor) if factor < SHARED => {
            let ranks = most;
            let status = Status::NotShared { ranks, factor };
            ParameterEstimate { status, ..shared }
        }
        _ => shared,
    }))
}
