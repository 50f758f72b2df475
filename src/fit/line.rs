//! Robust estimation of a start-up time and a time per byte.

use argmin::core::{CostFunction, Executor, State, TerminationReason};
use argmin::solver::neldermead::NelderMead;

use crate::FitError;

/// A measured time of something that takes `start + per_byte * bytes` seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
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

/// A line with intervals of its parameters, as (low, high).
pub(crate) struct LineFit {
    /// The best line.
    pub(crate) line: Line,
    /// Interval of `start`.
    pub(crate) start: (f64, f64),
    /// Interval of `per_byte`.
    pub(crate) per_byte: (f64, f64),
    /// Median absolute relative error of the points.
    pub(crate) residual: f64,
}

impl Line {
    /// The time of `bytes`.
    pub(crate) fn seconds(&self, bytes: f64) -> f64 {
        self.start + self.per_byte * bytes
    }
}

/// Share of the resamples' estimates that an interval covers.
pub(crate) const COVERAGE: f64 = 0.95;
const RESAMPLES: usize = 200;
/// Any number serves; a fixed one makes the same samples give the same interval.
const SEED: u64 = 20_210_531;

/// Fits a line to points of at least two sizes; `None` if the search does not converge.
///
/// Intervals come from refitting resamples: launches are drawn with replacement, and each point's
/// residual keeps or changes its sign at random (wild bootstrap, Wu 1986), so that they reflect
/// the spread between launches as well as how badly a line fits, also with a single launch.
pub(crate) fn fit(points: &[Point]) -> Result<Option<LineFit>, FitError> {
    let Some(line) = search(points, first_guess(points))? else {
        return Ok(None);
    };
    let mut rng = fastrand::Rng::with_seed(SEED);
    let mut launches: Vec<u32> = points.iter().map(|point| point.launch).collect();
    launches.sort_unstable();
    launches.dedup();
    let (mut starts, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..RESAMPLES {
        let resample = resample(points, &launches, line, &mut rng);
        let Some(line) = search(&resample, line)? else {
            return Ok(None);
        };
        starts.push(line.start);
        rates.push(line.per_byte);
    }
    let errors: Vec<f64> = points
        .iter()
        .map(|p| (line.seconds(p.bytes) / p.seconds - 1.0).abs())
        .collect();
    Ok(Some(LineFit {
        line,
        start: enclosing(&mut starts, line.start),
        per_byte: enclosing(&mut rates, line.per_byte),
        residual: statistics::median(&errors).unwrap_or(f64::NAN),
    }))
}

fn resample(points: &[Point], launches: &[u32], line: Line, rng: &mut fastrand::Rng) -> Vec<Point> {
    let mut resample = Vec::with_capacity(points.len());
    for _ in launches {
        let launch = launches[rng.usize(..launches.len())];
        for point in points.iter().filter(|point| point.launch == launch) {
            let fitted = line.seconds(point.bytes);
            let residual = point.seconds / fitted;
            let residual = if rng.bool() {
                residual
            } else {
                residual.recip()
            };
            resample.push(Point {
                seconds: fitted * residual,
                ..*point
            });
        }
    }
    resample
}

/// The central share of the estimates, widened to include the one from all points.
fn enclosing(estimates: &mut [f64], value: f64) -> (f64, f64) {
    estimates.sort_by(f64::total_cmp);
    let end = |q| statistics::quantile(estimates, q).unwrap_or(value);
    let tail = (1.0 - COVERAGE) / 2.0;
    (end(tail).min(value), end(1.0 - tail).max(value))
}

/// The time of the smallest size, and what a byte of the largest one takes.
fn first_guess(points: &[Point]) -> Line {
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

/// The line's mismatch as a function of the logarithms of its parameters, which keeps these
/// positive and makes steps relative.
struct Mismatch<'a>(&'a [Point]);

/// Relative error beyond which an error counts by its size instead of by its square: about what
/// the medians of a quiet launch scatter.
const TYPICAL_ERROR: f64 = 0.05;

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
        let loss = |point: &Point| {
            let error = (point.seconds / line.seconds(point.bytes)).ln() / TYPICAL_ERROR;
            error.hypot(1.0) - 1.0
        };
        Ok(self.0.iter().map(loss).sum::<f64>() / self.0.len() as f64)
    }
}

/// Iterations that are plenty for two parameters.
const MAX_ITERATIONS: u64 = 1000;
/// Scatter of the loss over the simplex at which the search ends.
const TOLERANCE: f64 = 1e-9;

fn search(points: &[Point], start: Line) -> Result<Option<Line>, FitError> {
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
