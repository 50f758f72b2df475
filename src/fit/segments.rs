//! Sizes from which messages follow another line, as another protocol makes them.

use std::collections::BTreeSet;

use model::Level;

use crate::FitError;
use crate::estimate::{Estimate, ParameterEstimate};
use crate::line::{self, Point};
use crate::parameters::{SIZES_NEEDED, line_parameters};

/// Two lines must leave at most this share of the loss that one leaves,
const LOSS_LEFT: f64 = 0.5;
/// and take this much of a point's loss away: that of an error of some 2 %.
const LOSS_TAKEN: f64 = 0.1;

/// The change point of the ping-pongs of a level and the lines below and above; nothing if one line
/// fits as well.
///
/// `<level>.segment` is the largest size of the first line; the interval ends at the smallest of the
/// second, for the change is somewhere between. All pairs of lines are tried that have enough sizes
/// each.
pub(crate) fn fit_segments(
    level: Level,
    ping_pongs: &[Point],
) -> Result<Vec<ParameterEstimate>, FitError> {
    let Some(change) = change_point(ping_pongs)? else {
        return Ok(Vec::new());
    };
    let name = |parameter| format!("{}.{parameter}", level.name());
    let (below, above) = change.split(ping_pongs);
    let estimate = Estimate {
        value: change.last,
        low: change.last,
        high: change.next,
        // Found in all turns together.
        coverage: 0.0,
        residual: 0.0,
    };
    let segment = ParameterEstimate::judged(name("segment"), "byte", estimate);
    let mut parameters = vec![segment];
    let lines = [
        (below, "short.alpha", "short.beta"),
        (above, "long.alpha", "long.beta"),
    ];
    for (points, alpha, beta) in lines {
        let names = [(name(alpha), "s"), (name(beta), "s/byte")];
        parameters.extend(line_parameters(&points, names)?);
    }
    Ok(parameters)
}

/// Where one line ends and the next begins, in bytes.
struct Change {
    last: f64,
    next: f64,
}

impl Change {
    fn split(&self, points: &[Point]) -> (Vec<Point>, Vec<Point>) {
        points.iter().partition(|point| point.bytes <= self.last)
    }
}

fn change_point(points: &[Point]) -> Result<Option<Change>, FitError> {
    let sizes: BTreeSet<u64> = points.iter().map(|point| point.bytes as u64).collect();
    let sizes: Vec<f64> = sizes.into_iter().map(|bytes| bytes as f64).collect();
    if sizes.len() < 2 * SIZES_NEEDED {
        return Ok(None);
    }
    let Some(one) = line::fit(points)? else {
        return Ok(None);
    };
    let mut best = (f64::INFINITY, None);
    for index in SIZES_NEEDED..=sizes.len() - SIZES_NEEDED {
        let (last, next) = (sizes[index - 1], sizes[index]);
        let change = Change { last, next };
        let (below, above) = change.split(points);
        let Some((low, high)) = line::fit(&below)?.zip(line::fit(&above)?) else {
            continue;
        };
        let loss = low.losses(&below) + high.losses(&above);
        if loss < best.0 {
            best = (loss, Some(change));
        }
    }
    let (loss, change) = best;
    let before = one.losses(points);
    let taken = (before - loss) / points.len() as f64;
    Ok(change.filter(|_| loss <= LOSS_LEFT * before && taken >= LOSS_TAKEN))
}
