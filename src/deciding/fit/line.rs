//! Robust estimation of a start-up time and a time per byte.

use argmin::core::{CostFunction, Executor, State, TerminationReason};
use argmin::solver::neldermead::NelderMead;

use crate::FitError;

/// The measured time of an operation that takes `start + per_byte * bytes` seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperationTime {
    /// The launch that measured it.
    pub(crate) launch: u32,
    /// Size of the message or vector.
    pub(crate) bytes: f64,
    /// The time, positive.
    pub(crate) seconds: f64,
}

/// `start + per_byte * bytes`, both positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    /// Seconds.
    pub(crate) start: f64,
    /// Seconds per byte.
    pub(crate) per_byte: f64,
}

impl Line {
    /// The time of `bytes`.
    pub(crate) fn seconds(&self, bytes: f64) -> f64 {
        self.start + self.per_byte * bytes
    }

    /// The share of the start in the time of `bytes`, at most 1; it falls as the size grows.
    pub(crate) fn share_of_start(&self, bytes: f64) -> f64 {
        self.start / self.seconds(bytes)
    }
}

/// Fits a line to points of at least two sizes, with equal weight for all launches; `None` if the search does not
/// converge.
pub(crate) fn fit_line(points: &[OperationTime]) -> Result<Option<Line>, FitError> {
    minimise_mismatch(points, first_guess(points))
}

/// The time of the smallest size, and the time per byte of the largest.
fn first_guess(points: &[OperationTime]) -> Line {
    let at = |bytes: f64| {
        let seconds: Vec<f64> = points
            .iter()
            .filter(|p| p.bytes == bytes)
            .map(|p| p.seconds)
            .collect();
        statistics::median(&seconds).unwrap_or(1.0)
    };
    let smallest = points.iter().map(|p| p.bytes).fold(f64::INFINITY, f64::min);
    let largest = points.iter().map(|p| p.bytes).fold(1.0, f64::max);
    Line {
        start: at(smallest),
        per_byte: at(largest) / largest,
    }
}

/// The line's mismatch as a function of the logarithms of its parameters, which keeps the parameters positive and makes
/// steps relative.
struct Mismatch<'a>(&'a [OperationTime]);

/// The relative error at which the loss turns from quadratic to linear: about the scatter of medians of a quiet launch.
pub(crate) const TYPICAL_ERROR: f64 = 0.05;

impl CostFunction for Mismatch<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    /// The mean pseudo-Huber loss of the logarithms of measured to fitted time, in units of
    /// [`TYPICAL_ERROR`]: every size weighs the same, and outliers do not pull.
    fn cost(&self, logarithms: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let line = Line {
            start: logarithms[0].exp(),
            per_byte: logarithms[1].exp(),
        };
        let loss = |point: &OperationTime| {
            let error = (point.seconds / line.seconds(point.bytes)).ln() / TYPICAL_ERROR;
            error.hypot(1.0) - 1.0
        };
        Ok(self.0.iter().map(loss).sum::<f64>() / self.0.len() as f64)
    }
}

/// Iterations, more than enough for two parameters.
const MAX_ITERATIONS: u64 = 1000;
/// Scatter of the loss over the simplex at which the search ends.
const TOLERANCE: f64 = 1e-9;

fn minimise_mismatch(points: &[OperationTime], start: Line) -> Result<Option<Line>, FitError> {
    let corner = vec![start.start.ln(), start.per_byte.ln()];
    let mut simplex = vec![corner; 3];
    simplex[1][0] += 0.5;
    simplex[2][1] += 0.5;
    let solver = NelderMead::new(simplex)
        .with_sd_tolerance(TOLERANCE)
        .map_err(FitError::Search)?;
    let result = Executor::new(Mismatch(points), solver)
        .configure(|state| state.max_iters(MAX_ITERATIONS))
        .timer(false)
        .run()
        .map_err(FitError::Search)?;
    let converged =
        result.state().get_termination_reason() == Some(&TerminationReason::SolverConverged);
    let best = result.state().get_best_param().filter(|_| converged);
    let line = best.map(|best| Line {
        start: best[0].exp(),
        per_byte: best[1].exp(),
    });
    Ok(line.filter(|line| line.start.is_normal() && line.per_byte.is_normal()))
}
