//! Candidates that need not be tried, by the model's prediction and the errors that it has made.

use statistics::median;
use vocabulary::{Candidate, Cell};

use crate::guide::Expectation;
use crate::known::Known;

/// How far behind the best a candidate must be expected while nothing is known about the model.
const UNTESTED: f64 = 8.0;
/// And at least, however right the model has been.
const TRUSTED: f64 = 2.0;
/// Standard deviations of the model's error that a candidate may make up for.
const SPREAD: f64 = 3.0;
/// The standard deviation of a normal distribution, in median absolute deviations.
const PER_MAD: f64 = 1.4826;
/// Measured times that the model's error is told from, at least.
const ENOUGH: usize = 8;

/// A candidate that is expected to take this many times as long as the best is not tried.
///
/// In each measured cell the model's errors, the logarithms of measured by predicted time, are compared
/// with their median: an error that all share changes no choice. Their spread over all cells is robust:
/// from the median absolute deviation.
pub(crate) fn margin(known: &Known, expectation: &dyn Expectation, like: &Cell) -> f64 {
    let mut deviations = Vec::new();
    let cells = known
        .measured()
        .filter(|cell| cell.collective == like.collective);
    for cell in cells {
        let Some(measured) = known.cell(cell) else {
            continue;
        };
        let errors: Vec<f64> = measured
            .candidates()
            .filter_map(|candidate| {
                let expected = expectation.seconds(cell, candidate)?;
                Some((measured.seconds(candidate)? / expected).ln())
            })
            .filter(|error| error.is_finite())
            .collect();
        if let Some(common) = median(&errors) {
            deviations.extend(errors.iter().map(|error| (error - common).abs()));
        }
    }
    match median(&deviations) {
        Some(deviation) if deviations.len() >= ENOUGH => (SPREAD * PER_MAD * deviation)
            .exp()
            .clamp(TRUSTED, UNTESTED),
        _ => UNTESTED,
    }
}

/// The candidates that may win: those that are not expected to take `margin` times as long as the best,
/// and those about whom nothing is expected.
pub(crate) fn promising(
    cell: &Cell,
    candidates: Vec<Candidate>,
    expectation: &dyn Expectation,
    margin: f64,
) -> Vec<Candidate> {
    let expected: Vec<Option<f64>> = candidates
        .iter()
        .map(|candidate| expectation.seconds(cell, candidate))
        .collect();
    let best = expected
        .iter()
        .flatten()
        .copied()
        .fold(f64::INFINITY, f64::min);
    candidates
        .into_iter()
        .zip(expected)
        .filter(|(_, seconds)| seconds.is_none_or(|seconds| seconds <= margin * best))
        .map(|(candidate, _)| candidate)
        .collect()
}
