//! Fast robust lines by reweighted least squares.

use crate::line::{Line, TYPICAL_ERROR};

/// A positive value at a place of at least 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CurvePoint {
    /// Bytes, or a function of the number of ranks.
    pub(crate) at: f64,
    /// Seconds, or seconds per byte.
    pub(crate) value: f64,
}

/// Rounds, more than enough for two parameters.
const MOST_ROUNDS: u32 = 100;
/// Relative change of both parameters at which the search ends.
const TOLERANCE: f64 = 1e-10;
/// The smallest share of the squared distances at which places count as different.
const SAME_PLACE: f64 = 1e-12;

/// The line with the least loss, that of [`crate::line::fit_line`]: pseudo-Huber of the logarithms of measured to
/// fitted time. Start and slope are at least 0. Points of one place give a constant.
///
/// The method is least squares with weights recomputed in each round, so that at the end the gradient is that of the
/// loss. A simplex search finds the same line a hundred times slower, and the search for segments needs a line for
/// every part of a curve.
pub(crate) fn robust_line(points: &[CurvePoint]) -> Line {
    improve_line(points, relative_least_squares(points), MOST_ROUNDS)
}

/// The line with the least squares of relative errors: a start for [`improve_line`].
pub(crate) fn relative_least_squares(points: &[CurvePoint]) -> Line {
    weighted_least_squares(points, |point| point.value.powi(-2))
}

/// Brings a line nearer to the one with the least loss.
pub(crate) fn improve_line(points: &[CurvePoint], mut line: Line, rounds: u32) -> Line {
    for _ in 0..rounds {
        let before = line;
        line = weighted_least_squares(points, |point| error_weight(point, &before));
        let near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * a.abs().max(b.abs());
        if near(line.start, before.start) && near(line.per_byte, before.per_byte) {
            break;
        }
    }
    line
}

/// The logarithm of a point's value to the line's.
pub(crate) fn log_error(point: &CurvePoint, line: &Line) -> f64 {
    (point.value / line_value_at(line, point.at)).ln()
}

/// The line's value, at least the smallest positive number: no time is 0.
pub(crate) fn line_value_at(line: &Line, place: f64) -> f64 {
    line.seconds(place.max(1.0)).max(f64::MIN_POSITIVE)
}

/// The weight of a squared error `(value - fitted)^2` that gives it the gradient of the loss of the logarithm.
fn error_weight(point: &CurvePoint, line: &Line) -> f64 {
    let error = log_error(point, line);
    let pull = 1.0 / (error / TYPICAL_ERROR).hypot(1.0);
    // error / (e^error - 1), which is 1 for errors of 0.
    let bend = if error.abs() < 1e-8 {
        1.0
    } else {
        error / error.exp_m1()
    };
    pull * bend * line_value_at(line, point.at).powi(-2)
}

/// Weighted least squares with neither start nor slope below 0.
fn weighted_least_squares(points: &[CurvePoint], weight: impl Fn(&CurvePoint) -> f64) -> Line {
    let [mut w, mut x, mut xx, mut y, mut xy] = [0.0; 5];
    for point in points {
        let (place, weight) = (point.at.max(1.0), weight(point));
        w += weight;
        x += weight * place;
        xx += weight * place * place;
        y += weight * point.value;
        xy += weight * place * point.value;
    }
    let constant = Line {
        start: y / w,
        per_byte: 0.0,
    };
    let spread = w * xx - x * x;
    if spread <= SAME_PLACE * w * xx {
        return constant;
    }
    let (start, per_byte) = ((y * xx - xy * x) / spread, (w * xy - x * y) / spread);
    if per_byte <= 0.0 {
        return constant;
    }
    if start < 0.0 {
        return Line {
            start: 0.0,
            per_byte: xy / xx,
        };
    }
    Line { start, per_byte }
}

#[cfg(test)]
mod tests {
    use super::{CurvePoint, robust_line};

    #[test]
    fn points_of_one_place_give_a_constant() {
        let place = |at, value| CurvePoint { at, value };
        let found = robust_line(&[place(0.0, 2.0), place(0.0, 2.0), place(0.0, 2.0)]);
        assert!((found.start - 2.0).abs() < 1e-12 && found.per_byte == 0.0);
    }
}
